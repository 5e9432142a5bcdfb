// A mutable cell that holds a tensor.
#pragma once

#include <memory>

#include "sinter/tensor.h"

namespace sinter {

namespace frontend {
struct VarImpl;
}

/// A cell whose tensor can be exchanged: weights between training steps, a step count. A compiled function
/// that closes over a Var reads it anew at every call, where a plain Tensor is bound when the function is
/// captured; a tensor of another dtype, shape or layout makes a new program. Copies share the cell. Reading
/// and assigning are safe from several threads.
class Var {
 public:
  explicit Var(Tensor initial);
  Var(const Var&) = default;

  /// Assigning inside a compiled function is an UnsupportedError: return the new value and assign it outside.
  Var& operator=(Tensor value);
  Var& operator=(const Var& other) { return *this = other.read(); }
  Tensor read() const;
  operator Tensor() const { return read(); }

  const std::shared_ptr<frontend::VarImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<frontend::VarImpl> impl_;
};

}  // namespace sinter
