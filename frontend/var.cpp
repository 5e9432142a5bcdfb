#include "sinter/var.h"

#include "frontend/capture.h"
#include "frontend/var_impl.h"
#include "ir/base/check.h"

namespace sinter {
namespace {

/// Memory is what a cell holds, so that reading it twice computes nothing twice.
Tensor in_memory(Tensor value, const char* what) {
  frontend::storage_of(value, what);
  return value;
}

}  // namespace

Var::Var(Tensor initial)
    : impl_(std::make_shared<frontend::VarImpl>(in_memory(std::move(initial), "making a Var of it"))) {}

Var& Var::operator=(Tensor value) {
  if (frontend::current_capture())
    fail<UnsupportedError>(
        "a Var cannot be assigned inside a compiled function, which runs later and many times; "
        "return the new value and assign it outside");
  impl_->set(in_memory(std::move(value), "assigning it to a Var"));
  return *this;
}

Tensor Var::read() const {
  if (frontend::Capture* capture = frontend::current_capture()) return capture->read(impl_, {});
  return impl_->get();
}

}  // namespace sinter
