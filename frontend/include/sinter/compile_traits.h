// How the arguments and results of a callable are seen by sinter::compile: which kinds of types it may have,
// and the passage between them and the type-erased core. compile.h says what users need to know of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sinter/operand.h"
#include "sinter/program.h"
#include "sinter/tensor.h"
#include "sinter/var.h"

namespace sinter::frontend {

/// A number whose value is part of the signature.
struct GuardedNumber {
  std::uint64_t bits = 0;
  std::uint8_t type = 0;  // tells apart the C++ types that a generic callable is made for
  std::string text;       // for people
};

/// One argument of a call, or of lower(), which knows tensors by their specification only. Lists of tensors
/// are the caller's.
using Argument =
    std::variant<Tensor, std::span<const Tensor>, GuardedNumber, TensorSpec, std::vector<TensorSpec>>;

/// A 0-d tensor that holds a number, of the dtype that a number has with no tensor about.
Tensor scalar_tensor(const Operand& number);

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// The parameter types of a callable, where its call operator is neither overloaded nor a template.

template <class F>
struct CallOperator : CallOperator<decltype(&F::operator())> {};
template <class R, class... P>
struct CallOperator<R (*)(P...)> {
  using Parameters = std::tuple<std::decay_t<P>...>;
};
template <class R, class... P>
struct CallOperator<R (*)(P...) noexcept> : CallOperator<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallOperator<R (C::*)(P...)> : CallOperator<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallOperator<R (C::*)(P...) const> : CallOperator<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallOperator<R (C::*)(P...) noexcept> : CallOperator<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallOperator<R (C::*)(P...) const noexcept> : CallOperator<R (*)(P...)> {};

template <class F>
concept HasOneSignature = std::is_pointer_v<F> || requires {
  &F::operator();
};

/// The parameter that a generic callable is given for an argument.
template <class A>
struct GenericParameter {
  using type = std::conditional_t<is_number<A>, A, Tensor>;
};
template <class T>
struct GenericParameter<std::vector<T>> {
  using type = std::vector<Tensor>;
};

template <class F, class... Args>
struct ParametersOf {
  using type = std::tuple<typename GenericParameter<Args>::type...>;
};
template <HasOneSignature F, class... Args>
struct ParametersOf<F, Args...> {
  using type = typename CallOperator<F>::Parameters;
};
template <class F, class... Args>
using Parameters = typename ParametersOf<F, std::decay_t<Args>...>::type;

/// The argument `given` as the parameter type P takes it.
template <class P, class A>
Argument pack(const A& given) {
  if constexpr (is_number<P>) {
    static_assert(is_number<A>,
                  "a parameter of number type takes a number; take a Tensor for run-time values");
    static_assert(sizeof(P) <= sizeof(std::uint64_t), "a parameter of number type has at most 64 bits");
    const P value = static_cast<P>(given);
    GuardedNumber number;
    std::memcpy(&number.bits, &value, sizeof(P));
    number.type =
        static_cast<std::uint8_t>(sizeof(P) | (std::is_floating_point_v<P> ? 16 : 0) |
                                  (std::is_signed_v<P> ? 32 : 0) | (std::is_same_v<P, bool> ? 64 : 0));
    if constexpr (std::is_enum_v<P>)
      number.text = std::to_string(static_cast<std::underlying_type_t<P>>(value));
    else
      number.text = std::to_string(value);
    return number;
  } else if constexpr (std::is_same_v<P, std::vector<Tensor>>) {
    static_assert(std::is_same_v<A, std::vector<Tensor>> || std::is_same_v<A, std::vector<TensorSpec>>,
                  "a parameter of type std::vector<Tensor> takes one");
    if constexpr (std::is_same_v<A, std::vector<Tensor>>)
      return std::span<const Tensor>(given);
    else
      return given;
  } else {
    static_assert(std::is_same_v<P, Tensor>,
                  "parameters of a compiled function are Tensor, std::vector<Tensor> or a number");
    if constexpr (std::is_arithmetic_v<A>)
      return scalar_tensor(given);
    else if constexpr (std::is_same_v<A, TensorSpec>)
      return given;
    else
      return Tensor(given);
  }
}

/// The stand-in or value that the callable is given for a parameter of type P.
template <class P>
P unpack(const Argument& argument) {
  if constexpr (is_number<P>) {
    P value;
    std::memcpy(&value, &std::get<GuardedNumber>(argument).bits, sizeof(P));
    return value;
  } else if constexpr (std::is_same_v<P, std::vector<Tensor>>) {
    const auto list = std::get<std::span<const Tensor>>(argument);
    return {list.begin(), list.end()};
  } else {
    return std::get<P>(argument);
  }
}

template <class R, std::size_t... I>
constexpr bool holds_tensors(std::index_sequence<I...>) {
  return (std::is_same_v<std::tuple_element_t<I, R>, Tensor> && ...);
}

template <class R>
concept TupleOfTensors = holds_tensors<R>(std::make_index_sequence<std::tuple_size<R>::value>{});

/// What a callable returned, as a list.
template <class R>
std::vector<Tensor> flatten(R&& result) {
  using T = std::decay_t<R>;
  if constexpr (std::is_same_v<T, Tensor>) {
    return {std::forward<R>(result)};
  } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    return std::forward<R>(result);
  } else if constexpr (TupleOfTensors<T>) {
    return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, result);
  } else {
    static_assert(TupleOfTensors<T>,
                  "a compiled function returns a Tensor, or a vector, tuple, pair or array of them");
  }
}

/// The list in the form that the callable returned.
template <class R>
R unflatten(std::vector<Tensor> results) {
  if constexpr (std::is_same_v<R, Tensor>) {
    return std::move(results.front());
  } else if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return results;
  } else if constexpr (TupleOfTensors<R>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return R{std::move(results[I])...};
    }
    (std::make_index_sequence<std::tuple_size_v<R>>{});
  }
}

template <class F, class P>
struct ResultOf;
template <class F, class... P>
struct ResultOf<F, std::tuple<P...>> {
  using type = std::decay_t<std::invoke_result_t<F&, P...>>;
};

/// Calls the callable with unpacked arguments and flattens what it returns.
template <class P, class F>
std::vector<Tensor> call_unpacked(F& callable, std::span<const Argument> arguments) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return flatten(callable(unpack<std::tuple_element_t<I, P>>(arguments[I])...));
  }
  (std::make_index_sequence<std::tuple_size_v<P>>{});
}

template <class... Specs>
inline constexpr bool ends_with_target = false;
template <class First, class... Rest>
inline constexpr bool ends_with_target<First, Rest...> = sizeof...(Rest) == 0 ? std::is_same_v<First, Target>
                                                                              : ends_with_target<Rest...>;

}  // namespace sinter::frontend
