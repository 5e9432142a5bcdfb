#include "frontend/dispatch.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "frontend/capture.h"
#include "frontend/device_of.h"
#include "frontend/eager.h"
#include "frontend/errors.h"
#include "frontend/signature.h"

namespace sinter::frontend {
namespace {

/// A graph of one operation, and the tensors in memory that it reads.
struct SmallGraph {
  ir::Graph graph{"eager"};
  std::vector<Tensor> inputs;
  CommonDevice device;

  ir::Operand operand(const Operand& x, const ir::Where& where) {
    if (const auto* number = std::get_if<Operand::Number>(&x.value())) return ir::Literal{*number};
    const Tensor& tensor = std::get<Tensor>(x.value());
    const TensorImpl& impl = impl_of(tensor);
    const Generator* generator = impl.generator();
    if (generator && !(generator->is_made && &generator->made->buffer->device() == &device.get()))
      return generator->emit(graph);
    storage_of(tensor, "using it after the capture");
    const auto same = std::ranges::find(inputs, tensor.impl(), &Tensor::impl);
    if (same != inputs.end()) return graph.inputs()[static_cast<std::size_t>(same - inputs.begin())];
    inputs.push_back(tensor);
    return graph.input("x", impl.dtype(), impl.shape(), where);
  }
};

template <class ToOperand>
std::vector<ir::Operand> operands_in(std::span<const Operand> operands, const ToOperand& to_operand) {
  std::vector<ir::Operand> values;
  values.reserve(operands.size());
  for (const Operand& x : operands) values.push_back(to_operand(x));
  return values;
}

/// Appends what an operation depends on in its operands, and collects those in memory, each once. False where
/// one is none that a kept program takes: a generator, a value of a capture, no tensor.
bool append_operands(std::string& key, std::vector<Tensor>& inputs, std::span<const Operand> operands) {
  for (const Operand& x : operands) {
    if (const auto* number = std::get_if<Operand::Number>(&x.value())) {
      key += static_cast<char>('0' + number->index());
      std::visit([&](auto value) { append_bytes(key, value); }, *number);
      continue;
    }
    const Tensor& tensor = std::get<Tensor>(x.value());
    if (!tensor.defined()) return false;
    const Storage* storage = tensor.impl()->storage();
    if (!storage || storage->is_number) return false;
    const auto same = std::ranges::find(inputs, tensor.impl(), &Tensor::impl);
    key += static_cast<char>('A' + (same - inputs.begin()));
    if (same != inputs.end()) continue;
    append_device(key, storage->buffer->device());
    append_signature(key, *tensor.impl()->layout, storage->data);
    inputs.push_back(tensor);
  }
  return true;
}

/// The operation by the program that is kept for it, if there is one. `key` becomes that of the operation, or
/// empty where it has none.
std::optional<Tensor> run_again(std::string& key, std::span<const Operand> operands) {
  std::vector<Tensor> inputs;
  inputs.reserve(operands.size());
  if (!append_operands(key, inputs, operands)) {
    key.clear();
    return std::nullopt;
  }
  return run_kept(key, inputs);
}

}  // namespace

Tensor dispatch(std::span<const Operand> operands, const Build& build, std::string_view known) {
  const ir::Where where = effective_line(operands.empty() ? ir::Where{} : operands.front().where());
  if (Capture* capture = current_capture())
    return with_location(where, [&] {
      const auto values = operands_in(operands, [&](const Operand& x) { return capture->operand(x); });
      return capture->tensor(build(capture->graph(), values, where));
    });
  thread_local std::string key;
  key = known;
  if (!known.empty())
    if (std::optional<Tensor> result = with_location(where, [&] { return run_again(key, operands); }))
      return *std::move(result);
  return with_location(where, [&] {
    constexpr ir::Where many{};  // the program is kept, and runs for other lines, too
    SmallGraph small;
    for (const Operand& x : operands)
      if (const auto* tensor = std::get_if<Tensor>(&x.value())) small.device.add(*tensor, "an operation");
    const auto values = operands_in(operands, [&](const Operand& x) { return small.operand(x, many); });
    const ir::Value result = build(small.graph, values, many);
    return run_one(std::move(small.graph), result, small.inputs, small.device.get(), key);
  });
}

ir::Value as_value(ir::Graph& graph, const ir::Operand& operand, const ir::Where& where) {
  if (const auto* value = std::get_if<ir::Value>(&operand)) return *value;
  const auto& literal = std::get<ir::Literal>(operand);
  return graph.constant(ir::to_scalar(literal, ir::default_dtype(literal)), where);
}

}  // namespace sinter::frontend
