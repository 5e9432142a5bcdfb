// The second half of ir/parse_call.h: from operands and attributes as written to a node.
#include <algorithm>

#include "ir/base/check.h"
#include "ir/parse_call.h"

namespace sinter::ir {
namespace {

// Nodes that come from text have no line of C++.
constexpr Where nowhere{};

class Call {
 public:
  Call(Graph& graph, Op op, const std::vector<Operand>& operands, const WrittenAttributes& attributes)
      : g_(graph), op_(op), operands_(operands), a_(attributes) {}

  Value make() {
    switch (family(op_)) {
      case Family::elementwise:
        return op_ == Op::cast ? make_cast() : elementwise(g_, op_, operands_, nowhere);
      case Family::reduction:
        return reduce(g_, op_, only(), a_.axes, a_.keepdims.value_or(false), a_.dtype, nowhere);
      case Family::movement:
        return movement();
      case Family::gather:
        return gather();
      case Family::scatter:
        return scatter();
      case Family::search:
        if (operands_.empty()) fail<ValueError>("{}: takes an array and numbers", name(op_));
        return search(g_, op_, node(operands_[0]), std::span(operands_).subspan(1), nowhere);
      case Family::contraction:
        return matmul(g_, value(0, 2), value(1, 2), nowhere);
      case Family::generator:
        break;
    }
    return generator();
  }

 private:
  /// Operand i of an op that takes `arity`, as a node; numbers get the dtype they have alone.
  Value value(std::size_t i, std::size_t arity) {
    if (operands_.size() != arity)
      fail<ValueError>("{}: takes {} operand{}, got {}", name(op_), arity, arity == 1 ? "" : "s",
                       operands_.size());
    return node(operands_[i]);
  }
  Value node(const Operand& operand) {
    if (const Value* v = std::get_if<Value>(&operand)) return *v;
    const Literal& literal = std::get<Literal>(operand);
    return g_.constant(to_scalar(literal, default_dtype(literal)), nowhere);
  }
  Value only() { return value(0, 1); }

  template <class T>
  const T& need(const std::optional<T>& attribute, std::string_view key) const {
    if (!attribute) fail<ValueError>("{}: needs the attribute {}", name(op_), key);
    return *attribute;
  }

  Value add(Value x, const Attrs& attrs) { return g_.add(op_, {&x, 1}, attrs, nowhere); }

  Value make_cast() {
    Attrs attrs;
    attrs.dtype = need(a_.dtype, "dtype");
    return add(only(), attrs);
  }

  std::vector<std::int64_t> axes_of(Value x, const std::vector<std::int64_t>& written) const {
    std::vector<std::int64_t> axes;
    for (std::int64_t axis : written)
      axes.push_back(normalize_axis(axis, g_.shape(x).rank(), describe(g_, op_, {&x, 1})));
    return axes;
  }

  Value movement() {
    if (op_ == Op::concat) return concatenation();
    if (op_ == Op::slice) return make_slice();
    if (op_ == Op::pad) return make_pad();
    const Value x = only();
    Attrs attrs;
    if (op_ == Op::broadcast_to) {
      attrs.shape = Shape(need(a_.shape, "shape"));
    } else if (op_ == Op::reshape) {
      // The builder works out a length of -1, and makes nothing where the shape stays.
      const Shape written(need(a_.shape, "shape"));
      if (!(written == g_.shape(x))) return reshape(g_, x, written, nowhere);
      attrs.shape = written;
    } else if (op_ == Op::flip) {
      if (!a_.axes) return flip(g_, x, std::nullopt, nowhere);
      attrs.axes = axes_of(x, *a_.axes);
      std::ranges::sort(attrs.axes);
    } else {
      attrs.axes = axes_of(x, need(a_.axes, "axes"));
    }
    return add(x, attrs);
  }

  Value concatenation() {
    std::vector<Value> tensors;
    for (const Operand& operand : operands_) tensors.push_back(node(operand));
    const std::int64_t axis = need(a_.axis, "axis");
    if (tensors.size() != 1) return concat(g_, tensors, axis, nowhere);
    Attrs attrs;
    attrs.axes = axes_of(tensors[0], {axis});
    return add(tensors[0], attrs);
  }

  Value make_slice() {
    const Value x = only();
    if (a_.ranges) {
      if (a_.starts || a_.lengths || a_.steps)
        fail<ValueError>("slice: takes ranges, or starts, lengths and steps");
      return slice(g_, x, *a_.ranges, nowhere);
    }
    Attrs attrs;
    attrs.starts = need(a_.starts, "starts (with lengths and steps), or ranges");
    attrs.shape = Shape(need(a_.lengths, "lengths"));
    attrs.steps = a_.steps.value_or(std::vector<std::int64_t>(attrs.starts.size(), 1));
    return add(x, attrs);
  }

  Value make_pad() {
    const Value x = only();
    const auto value = a_.value.value_or(Literal{std::int64_t{0}});
    Attrs attrs;
    attrs.starts = need(a_.before, "before");
    attrs.ends = need(a_.after, "after");
    attrs.value = std::holds_alternative<Scalar>(value) ? std::get<Scalar>(value)
                                                        : to_scalar(std::get<Literal>(value), g_.dtype(x));
    return add(x, attrs);
  }

  Value gather() {
    const Value x = value(0, 2), index = value(1, 2);
    const std::int64_t axis = need(a_.axis, "axis");
    return op_ == Op::take ? take(g_, x, index, axis, nowhere) : take_along_axis(g_, x, index, axis, nowhere);
  }

  Value scatter() {
    if (scatter_form(op_) == ScatterForm::by_segment) {
      const Value source = value(0, 3), order = value(1, 3), starts = value(2, 3);
      return sum_segments(g_, source, order, starts, need(a_.axis, "axis"), nowhere);
    }
    const Value source = value(0, 2), index = value(1, 2);
    const std::vector<Dim>& lengths = need(a_.lengths, "lengths");
    if (lengths.size() != 1) fail<ShapeError>("{}: takes one length, got {}", name(op_), lengths.size());
    return scatter_add(g_, source, index, need(a_.axis, "axis"), lengths[0], nowhere);
  }

  Value generator() {
    if (op_ == Op::constant) {
      if (const Value v = only(); g_.op(v) == Op::constant) return v;
      fail<ValueError>("constant: takes a number");
    }
    if (op_ == Op::random_bits) {
      const Value key = value(0, 2), counter = value(1, 2);
      return random_bits(g_, key, counter, Shape(need(a_.shape, "shape")), nowhere);
    }
    if (!operands_.empty()) fail<ValueError>("iota: takes no operands");
    return iota(g_, Shape(need(a_.shape, "shape")), a_.axis.value_or(0), a_.dtype.value_or(DType::int64),
                nowhere);
  }

  Graph& g_;
  Op op_;
  const std::vector<Operand>& operands_;
  const WrittenAttributes& a_;
};

}  // namespace

Value make_call(Graph& graph, Op op, const std::vector<Operand>& operands,
                const WrittenAttributes& attributes) {
  return Call(graph, op, operands, attributes).make();
}

}  // namespace sinter::ir
