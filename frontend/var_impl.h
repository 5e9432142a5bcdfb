// The cell behind a Var.
#pragma once

#include <mutex>

#include "sinter/tensor.h"

namespace sinter::frontend {

struct VarImpl {
  explicit VarImpl(Tensor initial) : value_(std::move(initial)) {}
  Tensor get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void set(Tensor value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
  }

 private:
  mutable std::mutex mutex_;
  Tensor value_;
};

}  // namespace sinter::frontend
