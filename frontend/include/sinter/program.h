// Looking at what a function becomes, without running it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinter/dtype.h"

namespace sinter {

namespace runtime {
class Program;
}

/// What code is generated for: "cpu", or an NVIDIA architecture: "sm_90a", or "compute_90" for PTX, which
/// serves newer GPUs too. Neither needs to be there.
struct Target {
  explicit Target(std::string named = "cpu") : name(std::move(named)) {}
  std::string name;
};

/// The length of an axis: a number, or a formula over symbols, such as "M" or "2*M", for lengths known at run
/// time.
class Length {
 public:
  Length(std::int64_t value) : value_(value) {}
  Length(const char* formula) : value_(std::string(formula)) {}
  Length(std::string formula) : value_(std::move(formula)) {}
  const std::variant<std::int64_t, std::string>& value() const { return value_; }

 private:
  std::variant<std::int64_t, std::string> value_;
};

/// What is to be known of a tensor to compile for it: `TensorSpec{f32, {"M", 4096}}`.
struct TensorSpec {
  DType dtype = DType::f32;
  std::vector<Length> shape = {};
};

/// The graph as the function was captured, after the passes, and as it is divided into kernels.
enum class Stage : std::uint8_t { captured, optimized, fused };

/// One compiled program: a function for one signature and target. Copies are cheap, and a move is a copy.
class Program {
 public:
  Program(const Program&) = default;
  Program& operator=(const Program&) = default;

  /// Groups, kernels, schedules, launches, bytes, and the reason for each boundary; for people.
  std::string explain() const;
  /// The same as JSON, with the keys of `sinter explain --json`.
  std::string json() const;
  /// The generated source of every distinct kernel.
  std::string source() const;
  /// What NVRTC makes of the kernels of a program for a CUDA target, with no GPU needed: a table of
  /// registers, spills, shared memory, counts and widths of loads and stores, milliseconds of compilation.
  /// These three throw ValueError for other targets, DeviceError without NVRTC, UnsupportedError in a build
  /// without CUDA.
  std::string compile_report() const;
  /// The same as JSON, with the keys of `sinter compile --json`.
  std::string compile_json() const;
  /// The PTX of every distinct kernel.
  std::string ptx() const;
  /// The graph in the text form that the `sinter` tool reads.
  std::string text(Stage stage = Stage::captured) const;
  /// The graph in Graphviz's language.
  std::string dot(Stage stage = Stage::fused) const;
  /// Writes dot() to a file, whole or not at all; ValueError when that fails.
  void write_dot(const std::string& path, Stage stage = Stage::fused) const;
  /// Kernel launches, library calls and copies of one run.
  int launches() const;
  /// Launches of the same function called plainly, one per operation.
  int eager_launches() const;

  explicit Program(std::shared_ptr<const runtime::Program> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const runtime::Program>& impl() const { return impl_; }

 private:
  std::shared_ptr<const runtime::Program> impl_;
};

}  // namespace sinter
