#include "frontend/built_program.h"

#include <array>
#include <cstring>

#include "frontend/build.h"
#include "frontend/eager.h"
#include "frontend/graph_key.h"
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
  return capture.argument(x.dtype(), impl_of(x).shape);
}
Tensor stand_in(Capture& capture, const TensorSpec& spec) {
  return capture.argument(spec.dtype, shape_of(spec));
}

template <class T>
std::vector<Tensor> stand_in(Capture& capture, const std::vector<T>& list) {
  std::vector<Tensor> stand_ins;
  for (const T& each : list) stand_ins.push_back(stand_in(capture, each));
  return stand_ins;
}
GuardedNumber stand_in(Capture&, const GuardedNumber& number) {
  return number;
}

std::string signature_of(const Tensor& x) {
  std::string key;
  append_signature(key, x);
  return key;
}

runtime::TensorView scalar_view(std::int64_t value, runtime::Device& device) {
  return input_view(scalar_tensor(value), device);
}

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
  std::vector<Argument> stand_ins;
  for (const Argument& argument : arguments)
    stand_ins.push_back(
        std::visit([&](const auto& x) -> Argument { return stand_in(recording, x); }, argument));
  const CaptureScope scope(recording);
  const std::vector<Tensor> results = body(stand_ins);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) fail<ValueError>("{}: result {} is a Tensor without content", name, i);
    recording.graph().output(recording.value(results[i], {}));
  }
  return {std::move(recording.graph()), recording.slots(), recording.device()};
}

BuiltProgram::BuiltProgram(Captured captured, std::span<const Argument> arguments, Numerics numerics)
    : slots_(std::move(captured.slots)), device_(&captured.device.get()) {
  const std::vector<Tensor> tensors = tensors_of(arguments);
  runtime::ProgramOptions options;
  options.numerics = numerics;
  options.target = device_->target();
  options.ordinal = device_->id().ordinal;
  for (Slot& slot : slots_) {
    const bool is_random = slot.kind == SlotKind::random_key || slot.kind == SlotKind::random_counter;
    const Tensor given =
        slot.kind == SlotKind::argument ? tensors[static_cast<std::size_t>(slot.index)] : slot.bound;
    options.layouts.push_back(is_random ? runtime::InputLayout{} : layout_of(view_of(given)));
    var_signatures_.push_back(slot.kind == SlotKind::var ? signature_of(slot.bound) : "");
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
      if (const Tensor now = slots_[i].var->get(); signature_of(now) != var_signatures_[i])
        return fmt::format("a Var holds {} now", describe(now));
  return {};
}

std::vector<Tensor> BuiltProgram::run(std::span<const Argument> arguments) const {
  const std::vector<Tensor> tensors = tensors_of(arguments);
  std::vector<runtime::TensorView> inputs;
  inputs.reserve(slots_.size());
  std::pair<std::int64_t, std::int64_t> draw;
  for (const Slot& slot : slots_) {
    switch (slot.kind) {
      case SlotKind::argument:
        inputs.push_back(input_view(tensors[static_cast<std::size_t>(slot.index)], *device_));
        break;
      case SlotKind::bound:
        inputs.push_back(input_view(slot.bound, *device_));
        break;
      case SlotKind::var:
        inputs.push_back(input_view(slot.var->get(), *device_));
        break;
      case SlotKind::random_key:
        draw = next_draw();
        inputs.push_back(scalar_view(draw.first, *device_));
        break;
      case SlotKind::random_counter:
        inputs.push_back(scalar_view(draw.second, *device_));
        break;
    }
  }
  std::vector<Tensor> results;
  if (program_->is_evaluated()) {  // as eager does, for the same bits
    for (runtime::TensorView& view : inputs) results.push_back(from_view(std::move(view)));
    return run_eagerly(program_->captured(), results);
  }
  for (runtime::TensorView& view : program_->run(inputs)) results.push_back(from_view(std::move(view)));
  return results;
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
