#include "frontend/capture.h"

#include <atomic>

#include "frontend/var_impl.h"
#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

thread_local Capture* innermost = nullptr;
std::atomic<std::uint64_t> captures{0};

}  // namespace

Capture::Capture(std::string name) : id_(++captures), graph_(std::move(name)) {}

Tensor Capture::argument(DType dtype, const ir::Shape& shape) {
  return argument(fmt::format("x{}", arguments_), dtype, shape);
}

Tensor Capture::argument(std::string name, DType dtype, const ir::Shape& shape) {
  Slot slot;
  slot.kind = SlotKind::argument;
  slot.index = arguments_++;
  return tensor(add_input(std::move(slot), std::move(name), dtype, shape, {}));
}

ir::Operand Capture::operand(const Operand& x) {
  if (const auto* number = std::get_if<Operand::Number>(&x.value())) return ir::Literal{*number};
  return value(std::get<Tensor>(x.value()), x.where());
}

ir::Value Capture::value(const Tensor& x, const ir::Where& where) {
  const TensorImpl& impl = impl_of(x);
  if (const auto* node = std::get_if<CaptureNode>(&impl.content)) {
    if (node->capture != id_)
      fail<ValueError>(
          "{} was made in another compiled function, whose capture has ended or goes on outside; "
          "a value leaves a compiled function only as its result",
          describe(x));
    return node->value;
  }
  if (const Generator* generator = impl.generator()) return generator->emit(graph_);
  return bind(x, where);
}

ir::Value Capture::bind(const Tensor& x, const ir::Where& where) {
  if (auto known = known_.find(x.impl().get()); known != known_.end()) return known->second;
  place(x);
  Slot slot;
  slot.kind = SlotKind::bound;
  slot.bound = x;
  const TensorImpl& impl = impl_of(x);
  const ir::Value v =
      add_input(std::move(slot), fmt::format("bound{}", known_.size()), impl.dtype(), impl.shape(), where);
  known_.emplace(x.impl().get(), v);
  return v;
}

Tensor Capture::read(const std::shared_ptr<VarImpl>& var, const ir::Where& where) {
  if (auto known = known_.find(var.get()); known != known_.end()) return tensor(known->second);
  const Tensor now = var->get();
  place(now);
  Slot slot;
  slot.kind = SlotKind::var;
  slot.bound = now;  // what was captured: its dtype, shape and layout are guarded
  slot.var = var;
  const TensorImpl& impl = impl_of(now);
  const ir::Value v =
      add_input(std::move(slot), fmt::format("var{}", known_.size()), impl.dtype(), impl.shape(), where);
  known_.emplace(var.get(), v);
  return tensor(v);
}

std::pair<ir::Value, ir::Value> Capture::draw(const ir::Where& where) {
  Slot key, counter;
  key.kind = SlotKind::random_key;
  counter.kind = SlotKind::random_counter;
  const ir::Value k = add_input(std::move(key), "key", DType::int64, {}, where);
  return {k, add_input(std::move(counter), "counter", DType::int64, {}, where)};
}

Tensor Capture::tensor(ir::Value value) const {
  return Tensor(std::make_shared<TensorImpl>(
      runtime::TensorLayout::make(graph_.dtype(value), graph_.shape(value)), CaptureNode{id_, value}));
}

ir::Value Capture::add_input(Slot slot, std::string name, DType dtype, const ir::Shape& shape,
                             const ir::Where& where) {
  slots_.push_back(std::move(slot));
  return graph_.input(std::move(name), dtype, shape, where);
}

CaptureScope::CaptureScope(Capture& capture) : outer_(innermost) {
  innermost = &capture;
}
CaptureScope::~CaptureScope() {
  innermost = outer_;
}

Capture* current_capture() {
  return innermost;
}

}  // namespace sinter::frontend
