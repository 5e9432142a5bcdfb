#include "sinter/operand.h"

#include "frontend/errors.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"
#include "ir/scalar.h"
#include "sinter/var.h"

namespace sinter {

Operand::Operand(const Var& var, Where where) : value_(var.read()), where_(where) {}

DType Operand::dtype() const {
  if (const auto* tensor = std::get_if<Tensor>(&value_)) return tensor->dtype();
  return ir::default_dtype({std::get<Number>(value_)});
}

int Operand::rank() const {
  const auto* tensor = std::get_if<Tensor>(&value_);
  return tensor ? tensor->rank() : 0;
}

Operand::Number Operand::whole(std::int64_t value, bool positive, const Where& where) {
  frontend::with_location(where, [&] {
    if (positive && value < 0)
      fail<ValueError>("the number {} does not fit int64, the widest dtype of whole numbers",
                       static_cast<std::uint64_t>(value));
  });
  return value;
}

}  // namespace sinter
