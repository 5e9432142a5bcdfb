#include "frontend/built_program.h"

#include <array>
#include <cstring>
#include <deque>

#include "frontend/build.h"
#include "frontend/eager.h"
#include "frontend/graph_key.h"
#include "frontend/program_inputs.h"
#include "frontend/random.h"
#include "frontend/signature.h"
#include "frontend/tensor_spec.h"
#include "frontend/var_impl.h"
#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

Tensor stand_in(Capture& capture, const Tensor& x) {
  if (!x.defined()) return x;
  capture.place(x);
  return capture.argument(x.dtype(), impl_of(x).shape());
}
Tensor stand_in(Capture& capture, const TensorSpec& spec) {
  return capture.argument(spec.dtype, shape_of(spec));
}

GuardedNumber stand_in(Capture&, const GuardedNumber& number) {
  return number;
}

/// What stands in the place of arguments.
class StandIns {
 public:
  StandIns(Capture& capture, std::span<const Argument> arguments) : capture_(capture) {
    for (const Argument& argument : arguments)
      stand_ins_.push_back(std::visit([&](const auto& x) { return in_place_of(x); }, argument));
  }
  std::span<const Argument> get() const { return stand_ins_; }

 private:
  template <class T>
  Argument in_place_of(const T& x) {
    return stand_in(capture_, x);
  }
  Argument in_place_of(const std::span<const Tensor>& list) { return list_of(list); }
  Argument in_place_of(const std::vector<TensorSpec>& list) { return list_of(list); }
  std::span<const Tensor> list_of(const auto& list) {
    std::vector<Tensor>& stand_ins = lists_.emplace_back();
    for (const auto& each : list) stand_ins.push_back(stand_in(capture_, each));
    return stand_ins;
  }

  Capture& capture_;
  std::vector<Argument> stand_ins_;
  std::deque<std::vector<Tensor>> lists_;
};

/// Whether a tensor bound at one capture and one bound at the next are the same, or made anew with the same
/// elements.
bool same_content(const Tensor& a, const Tensor& b) {
  if (a.impl() == b.impl()) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  std::vector<std::byte> as(a.nbytes()), bs(b.nbytes());
  a.copy_to(as.data());
  b.copy_to(bs.data());
  return as == bs;
}

}  // namespace

Captured capture(const std::string& name, const Body& body, std::span<const Argument> arguments) {
  Capture recording(name);
  const StandIns stand_ins(recording, arguments);
  const CaptureScope scope(recording);
  const std::vector<Tensor> results = body(stand_ins.get());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) fail<ValueError>("{}: result {} is a Tensor without content", name, i);
    recording.graph().output(recording.value(results[i], {}));
  }
  return {std::move(recording.graph()), recording.slots(), recording.device()};
}

BuiltProgram::BuiltProgram(Captured captured, std::span<const Argument> arguments, Numerics numerics)
    : slots_(std::move(captured.slots)), device_(&captured.device.get()) {
  const std::vector<const Tensor*> tensors = tensors_of(arguments);
  runtime::ProgramOptions options;
  options.numerics = numerics;
  options.target = device_->target();
  options.ordinal = device_->id().ordinal;
  for (Slot& slot : slots_) {
    const bool is_random = slot.kind == SlotKind::random_key || slot.kind == SlotKind::random_counter;
    const Tensor& given =
        slot.kind == SlotKind::argument ? *tensors[static_cast<std::size_t>(slot.index)] : slot.bound;
    options.layouts.push_back(is_random ? runtime::InputLayout{} : layout_of(given));
    var_signatures_.emplace_back();
    if (slot.kind == SlotKind::var) var_signatures_.back() = Signature(slot.bound).kept();
    if (slot.kind == SlotKind::var) slot.bound = {};  // it need not live on
  }
  program_ = build(std::move(captured.graph), std::move(options));
}

bool BuiltProgram::vars_fit() const {
  return changed_var().empty();
}

std::string BuiltProgram::changed_var() const {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].kind == SlotKind::var)
      if (const Tensor now = slots_[i].var->get(); Signature(now) != *var_signatures_[i])
        return fmt::format("a Var holds {} now", describe(now));
  return {};
}

std::vector<Tensor> BuiltProgram::run(std::span<const Argument> arguments) const {
  const std::vector<const Tensor*> tensors = tensors_of(arguments);
  ProgramInputs inputs(*device_, slots_.size());
  std::pair<std::int64_t, std::int64_t> draw;
  for (const Slot& slot : slots_) {
    switch (slot.kind) {
      case SlotKind::argument:
        inputs.add(*tensors[static_cast<std::size_t>(slot.index)]);
        break;
      case SlotKind::bound:
        inputs.add(slot.bound);
        break;
      case SlotKind::var:
        inputs.keep(slot.var->get());
        break;
      case SlotKind::random_key:
        draw = next_draw();
        inputs.keep(scalar_tensor(draw.first));
        break;
      case SlotKind::random_counter:
        inputs.keep(scalar_tensor(draw.second));
        break;
    }
  }
  if (!program_->is_evaluated()) return inputs.run(*program_);
  std::vector<Tensor> copies;
  for (const Tensor* x : inputs.tensors()) copies.push_back(*x);
  return run_eagerly(program_->captured(), copies);  // as eager does, for the same bits
}

void BuiltProgram::check_same(const std::string& name, const Captured& again) const {
  std::string difference = first_difference(program_->captured(), again.graph);
  for (std::size_t i = 0; difference.empty() && i < slots_.size(); ++i) {
    const Slot &before = slots_[i], &now = again.slots[i];
    if (before.kind != now.kind || before.var != now.var)
      difference = fmt::format("input {} comes from elsewhere", i);
    else if (before.kind == SlotKind::bound && !same_content(before.bound, now.bound))
      difference = fmt::format(
          "it closes over another {} than the one bound when it was captured; hold it in a Var, "
          "or pass it as an argument",
          describe(now.bound));
  }
  if (!difference.empty())
    fail<ValueError>("the compiled function {} does not do the same at every call with one signature: {}",
                     name, difference);
}

}  // namespace sinter::frontend
