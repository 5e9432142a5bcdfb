// A compiled function for one signature: the program, and where each of its inputs comes from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/capture.h"
#include "frontend/signature.h"
#include "sinter/compile_traits.h"
#include "sinter/numerics.h"

namespace sinter::frontend {

/// What running the callable on stand-ins gave.
struct Captured {
  ir::Graph graph;
  std::vector<Slot> slots;
  CommonDevice device;
};

using Body = std::function<std::vector<Tensor>(std::span<const Argument>)>;

/// Runs the callable once on stand-ins for its tensors.
Captured capture(const std::string& name, const Body& body, std::span<const Argument> arguments);

class BuiltProgram {
 public:
  BuiltProgram(Captured captured, std::span<const Argument> arguments, Numerics numerics);

  /// Whether the Vars that it reads hold tensors of the dtypes, shapes and layouts for which it was made.
  bool vars_fit() const;
  /// Those that do not, in words; for logs.
  std::string changed_var() const;

  std::vector<Tensor> run(std::span<const Argument> arguments) const;

  /// Throws ValueError, saying where they differ, unless a new capture is the one this program was made of.
  void check_same(const std::string& name, const Captured& again) const;

  const std::shared_ptr<const runtime::Program>& program() const { return program_; }

 private:
  std::vector<Slot> slots_;
  std::vector<std::optional<Signature>> var_signatures_;  // one per slot, nothing for others
  runtime::Device* device_;
  std::shared_ptr<const runtime::Program> program_;
};

}  // namespace sinter::frontend
