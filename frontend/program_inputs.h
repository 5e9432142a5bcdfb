// What a program is run on.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "frontend/tensor_impl.h"
#include "runtime/program.h"

namespace sinter::frontend {

/// Tensors in memory, in the order of a program's inputs, of the kinds that it takes.
class ProgramInputs {
 public:
  ProgramInputs(runtime::Device& device, std::size_t count) : device_(device) { tensors_.reserve(count); }

  /// Adds a tensor that outlives this object; a number goes to the device.
  void add(const Tensor& x);
  /// Adds a tensor that may go meanwhile.
  void keep(const Tensor& x);

  std::span<const Tensor* const> tensors() const { return tensors_; }
  /// Runs the program, which is not one that is evaluated.
  std::vector<Tensor> run(const runtime::Program& program) const;

 private:
  runtime::Device& device_;
  std::vector<const Tensor*> tensors_;
  std::deque<Tensor> kept_;
};

}  // namespace sinter::frontend
