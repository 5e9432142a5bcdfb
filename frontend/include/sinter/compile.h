// sinter::compile: a function over tensors made into fused programs.
//
//     auto gelu = sinter::compile([](Tensor x) {
//       return 0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.044715 * x * x * x)));
//     });
//     Tensor y = gelu(x);   // captures, fuses and compiles at the first call; runs one kernel
//
// The first call with a signature (dtypes, shapes, memory layouts of the arguments) runs the callable once
// over stand-ins, records what it does to them, and compiles that; later calls only run the program. So the
// callable must do the same for every argument of one signature, and side effects of its own happen at
// capture only.
//
//   - Parameters are tensors, vectors of tensors, and numbers. A parameter of number type is part of the
//     signature, by its value. A number given for a Tensor parameter is handed in at run time, as a scalar of
//     f32, int64 or bool.
//   - Results are a tensor, or a vector, tuple, pair or array of tensors.
//   - Tensors the callable closes over are bound when it is captured; a Var is read at every call; rand draws
//     anew.
//   - The value of a tensor cannot be asked for during capture: bool(x), item(), data() throw
//     UnsupportedError.
//   - A compiled function called while another is captured becomes part of that one, up to 256 deep; a deeper
//     call throws UnsupportedError.
//   - It may be called from many threads: one of them compiles, the others wait, and all get its exceptions.
//
// SINTER_LOG=recompiles,guards says why a new program was made; SINTER_CHECK=1 captures again at every call
// and throws ValueError if the function did something else, or if an index was out of range.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sinter/compile_traits.h"
#include "sinter/numerics.h"
#include "sinter/program.h"
#include "sinter/tensor.h"

namespace sinter {

struct CompileOptions {
  /// The setting SINTER_NUMERICS where none is chosen; docs/numerics.md says what each mode promises.
  std::optional<Numerics> numerics = std::nullopt;
  /// What explain(), logs and DOT files call the function.
  std::string name = "function";
};

namespace frontend {

/// The part of a compiled function that does not depend on the callable's type: its programs by signature.
class CompiledCore {
 public:
  /// Runs the callable on stand-ins, which stand in the place of tensors and specifications.
  using Body = std::function<std::vector<Tensor>(std::span<const Argument>)>;

  explicit CompiledCore(CompileOptions options);
  ~CompiledCore();

  std::vector<Tensor> call(const Body& body, std::span<const Argument> arguments);
  Program lower(const Body& body, std::span<const Argument> arguments, const Target& target);

  std::vector<Program> programs() const;
  std::string explain() const;
  std::string json() const;
  std::string source() const;
  void write_dot(const std::string& path, Stage stage) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frontend

/// What compile() returns. Copies share their programs, and a move is a copy.
template <class F>
class Compiled {
 public:
  Compiled(const Compiled&) = default;
  Compiled& operator=(const Compiled&) = default;
  Compiled(F callable, CompileOptions options)
      : callable_(std::make_shared<F>(std::move(callable))),
        core_(std::make_shared<frontend::CompiledCore>(std::move(options))) {}

  /// Runs the program for these arguments, and makes it first when there is none.
  template <class... Args>
  auto operator()(const Args&... args) const {
    using P = frontend::Parameters<F, Args...>;
    static_assert(std::tuple_size_v<P> == sizeof...(Args),
                  "wrong number of arguments for the compiled function");
    using R = typename frontend::ResultOf<F, P>::type;
    return frontend::unflatten<R>(
        core_->call(body<P>(), pack_all<P>(std::index_sequence_for<Args...>{}, std::tie(args...))));
  }

  /// The program for arguments of this kind, without data and without running it: per parameter a TensorSpec
  /// (or a vector of them), a tensor, or the value of a number; at the end, if it is not the CPU, a Target.
  ///
  ///     gelu.lower(TensorSpec{f32, {"M", 4096}}, Target{"sm_90a"}).source()
  template <class... Specs>
  Program lower(const Specs&... specs) const {
    const auto given = std::tie(specs...);
    if constexpr (frontend::ends_with_target<Specs...>)
      return lower_for(std::get<sizeof...(Specs) - 1>(given), given,
                       std::make_index_sequence<sizeof...(Specs) - 1>{});
    else
      return lower_for(Target{}, given, std::index_sequence_for<Specs...>{});
  }

  /// The programs that calls have made so far. What follows covers all of them: texts one after the other,
  /// JSON as an array, DOT as several graphs in one file.
  std::vector<Program> programs() const { return core_->programs(); }
  std::string explain() const { return core_->explain(); }
  std::string json() const { return core_->json(); }
  std::string source() const { return core_->source(); }
  void write_dot(const std::string& path, Stage stage = Stage::fused) const { core_->write_dot(path, stage); }

 private:
  template <class P>
  frontend::CompiledCore::Body body() const {
    return [callable = callable_.get()](std::span<const frontend::Argument> arguments) {
      return frontend::call_unpacked<P>(*callable, arguments);
    };
  }

  template <class P, std::size_t... I, class Given>
  static std::array<frontend::Argument, sizeof...(I)> pack_all(std::index_sequence<I...>,
                                                               const Given& given) {
    return {frontend::pack<std::tuple_element_t<I, P>>(std::get<I>(given))...};
  }

  template <class Given, std::size_t... I>
  Program lower_for(const Target& target, const Given& given, std::index_sequence<I...> all) const {
    using P = frontend::Parameters<F, std::tuple_element_t<I, Given>...>;
    static_assert(std::tuple_size_v<P> == sizeof...(I),
                  "wrong number of arguments for the compiled function");
    return core_->lower(body<P>(), pack_all<P>(all, given), target);
  }

  std::shared_ptr<F> callable_;
  std::shared_ptr<frontend::CompiledCore> core_;
};

/// A function that captures, fuses and compiles `callable` when it is called.
template <class F>
Compiled<std::decay_t<F>> compile(F&& callable, CompileOptions options = {}) {
  return {std::forward<F>(callable), std::move(options)};
}

}  // namespace sinter
