#include "ir/graph.h"

#include <algorithm>

#include "ir/base/check.h"
#include "ir/infer.h"

namespace sinter::ir {
namespace {

constexpr std::uint32_t empty_slot = ~0u;

std::size_t mix(std::size_t h, std::size_t v) {
  return (h ^ v) * 0x9e3779b97f4a7c15u ^ (h >> 29);
}

}  // namespace

std::size_t Attrs::hash() const {
  std::size_t h = keepdims;
  for (std::int64_t a : axes) h = mix(h, static_cast<std::size_t>(a));
  for (std::int64_t s : steps) h = mix(h, static_cast<std::size_t>(s));
  for (const Dim& d : starts) h = mix(h, d.hash());
  for (const Dim& d : ends) h = mix(h, d.hash());
  h = mix(h, shape.hash());
  h = mix(h, value.bits + static_cast<std::size_t>(value.dtype));
  h = mix(h, static_cast<std::size_t>(dtype));
  return mix(h, std::hash<std::string>{}(name));
}

Graph::Graph(std::string name) : name_(std::move(name)), index_(64, empty_slot) {
  no_attrs_ = intern(Attrs{});
}

const Shape* Graph::intern(Shape shape) {
  return &*shapes_.insert(std::move(shape)).first;
}
const Attrs* Graph::intern(const Attrs& attrs) {
  return &*attrs_.insert(attrs).first;
}

Value Graph::input(std::string name, DType dtype, const Shape& shape, std::source_location where) {
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis].is_constant() && shape[axis].value() < 0)
      fail<ShapeError>("graph {}: axis {} of the input %{} has the length {}; it must not be negative", name_,
                       axis, name, shape[axis].value());
  Attrs attrs;
  attrs.name = std::move(name);
  attrs.dtype = dtype;
  attrs.shape = shape;
  // Two inputs of one name, dtype and shape are still two inputs, so they bypass the search for equal nodes.
  const Value v = append(Op::input, dtype, intern(shape), intern(attrs), {}, where);
  inputs_.push_back(v);
  return v;
}

Value Graph::constant(Scalar value, std::source_location where) {
  Attrs attrs;
  attrs.value = value;
  attrs.dtype = value.dtype;
  return add(Op::constant, {}, attrs, where);
}

Value Graph::add(Op op, std::span<const Value> operands, const Attrs& attrs, std::source_location where) {
  SINTER_ASSERT(op != Op::input, "inputs are added by Graph::input");
  for (Value v : operands)
    SINTER_ASSERT(v.id < nodes_.size(), "{}: operand {} is not a node", sinter::ir::name(op), v.id);
  const Attrs* interned = is_elementwise(op) && op != Op::cast ? no_attrs_ : intern(attrs);
  const std::size_t slot = slot_of(op, interned, operands);
  if (index_[slot] != empty_slot) return Value{index_[slot]};
  Inferred result = infer(*this, op, operands, *interned);
  const Shape* shape = result.same ? result.same : intern(std::move(result.shape));
  // The operands may be a span of this very graph's list, which append can move.
  const std::vector<Value> kept(operands.begin(), operands.end());
  const Value v = append(op, result.dtype, shape, interned, kept, where);
  index_[slot] = v.id;
  if (nodes_.size() * 2 > index_.size()) grow_index();
  return v;
}

void Graph::output(Value value, std::string name) {
  SINTER_ASSERT(value.id < nodes_.size(), "output {} is not a node", value.id);
  outputs_.push_back({std::move(name), value});
}

Value Graph::append(Op op, DType dtype, const Shape* shape, const Attrs* attrs,
                    std::span<const Value> operands, std::source_location where) {
  if (nodes_.size() >= empty_slot - 1) fail<UnsupportedError>("a graph holds at most 2^32 - 2 nodes");
  const Value v{static_cast<std::uint32_t>(nodes_.size())};
  const auto first = static_cast<std::uint32_t>(operands_.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  nodes_.push_back({op, dtype, static_cast<std::uint32_t>(operands.size()), first, shape, attrs, where});
  return v;
}

std::size_t Graph::slot_of(Op op, const Attrs* attrs, std::span<const Value> operands) const {
  std::size_t h = mix(static_cast<std::size_t>(op), reinterpret_cast<std::size_t>(attrs));
  for (Value v : operands) h = mix(h, v.id + 1);
  std::size_t slot = h & (index_.size() - 1);
  for (; index_[slot] != empty_slot; slot = (slot + 1) & (index_.size() - 1)) {
    const Value candidate{index_[slot]};
    const Node& n = nodes_[candidate.id];
    if (n.op == op && n.attrs == attrs && std::ranges::equal(this->operands(candidate), operands)) break;
  }
  return slot;
}

void Graph::grow_index() {
  index_.assign(index_.size() * 4, empty_slot);
  for (std::uint32_t id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].op != Op::input)
      index_[slot_of(nodes_[id].op, nodes_[id].attrs, operands(Value{id}))] = id;
}

std::vector<std::string> Graph::symbols() const {
  std::vector<std::string> names;
  for (Value v : inputs_)
    for (const Dim& d : shape(v)) d.collect_symbols(names);
  return names;
}

std::string describe(const Graph& graph, Op op, std::span<const Value> operands) {
  std::string text = fmt::format("{}(", name(op));
  for (std::size_t i = 0; i < operands.size(); ++i)
    text +=
        fmt::format("{}{}{}", i ? ", " : "", name(graph.dtype(operands[i])), graph.shape(operands[i]).str());
  return text + ")";
}

}  // namespace sinter::ir
