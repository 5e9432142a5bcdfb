#include "ir/evaluate_typed.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ir/base/check.h"
#include "ir/liveness.h"
#include "ir/reference_math.h"
#include "ir/scatter.h"
#include "ir/strided.h"
#include "ir/typed_elementwise.h"
#include "ir/typed_reduction.h"

namespace sinter::ir {
namespace {

/// Calls `f` with an unsigned value of the dtype's size: moving elements needs nothing else of them.
template <class F>
void visit_size(DType t, F&& f) {
  switch (size_of(t)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

class TypedEvaluator {
 public:
  TypedEvaluator(const Graph& graph, std::span<const Array> inputs)
      : graph_(graph), arrays_(graph.size()), owned_(graph.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) arrays_[graph.inputs()[i].id] = &inputs[i];
  }

  std::vector<Array> run() {
    const std::vector<std::uint32_t> last = last_readers(graph_);
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      const Value node{id};
      if (last[id] == never_read || graph_.op(node) == Op::input) continue;
      owned_[id] = Array(graph_.dtype(node), graph_.shape(node).values());
      arrays_[id] = &owned_[id];
      evaluate(node, owned_[id]);
      for (Value operand : graph_.operands(node))
        if (last[operand.id] == id) owned_[operand.id] = Array();
    }
    return outputs();
  }

 private:
  /// Copies of inputs and of results that are returned once more; the others are handed over.
  std::vector<Array> outputs() {
    std::vector<std::size_t> times(graph_.size(), 0);
    for (const Output& output : graph_.outputs()) ++times[output.value.id];
    std::vector<Array> arrays;
    for (const Output& output : graph_.outputs()) {
      const std::uint32_t id = output.value.id;
      if (--times[id] == 0 && graph_.op(output.value) != Op::input)
        arrays.push_back(std::move(owned_[id]));
      else
        arrays.push_back(*arrays_[id]);
    }
    return arrays;
  }

  const Array& operand(Value node, std::size_t k) const { return *arrays_[graph_.operands(node)[k].id]; }

  void evaluate(Value node, Array& result) {
    switch (family(graph_.op(node))) {
      case Family::elementwise:
        return elementwise(node, result);
      case Family::reduction:
        return evaluate_reduction(graph_, node, operand(node, 0), result);
      case Family::movement:
        return movement(node, result);
      case Family::gather:
        return gather(node, result);
      case Family::scatter:
        return scatter(node, result);
      case Family::search:
        return search(node, result);
      case Family::contraction:
        return evaluate_matmul(operand(node, 0), operand(node, 1), result);
      case Family::generator:
        return generate(node, result);
    }
  }

  void elementwise(Value node, Array& result) {
    if (graph_.op(node) == Op::cast) {
      const Array& x = operand(node, 0);
      return evaluate_cast(x.dtype, x.data.data(), result.dtype, result.data.data(), result.elements());
    }
    std::vector<ElementwiseOperand> operands;
    for (Value v : graph_.operands(node)) {
      const Array& x = *arrays_[v.id];
      operands.push_back({x.dtype, x.data.data(), x.shape.empty()});
    }
    evaluate_elementwise(graph_.op(node), operands, result.dtype, result.data.data(), result.elements());
  }

  void movement(Value node, Array& result) {
    const Op op = graph_.op(node);
    if (op == Op::reshape) {
      result.data = operand(node, 0).data;
      return;
    }
    visit_size(result.dtype, [&](auto type) {
      using T = decltype(type);
      T* out = reinterpret_cast<T*>(result.data.data());
      auto place = [&](const Array& x, const StridedMap& box) {
        copy_box(x.shape, reinterpret_cast<const T*>(x.data.data()), {0, row_major_strides(x.shape)}, out,
                 box);
      };
      if (op == Op::pad) {
        std::fill_n(out, result.elements(), static_cast<T>(graph_.attrs(node).value.bits));
        return place(operand(node, 0), pad_box(graph_, node));
      }
      if (op == Op::concat) {
        std::int64_t position = 0;
        for (std::size_t k = 0; k < graph_.operands(node).size(); ++k) {
          place(operand(node, k), concat_box(graph_, node, position));
          position += operand(node, k).shape[static_cast<std::size_t>(graph_.attrs(node).axes[0])];
        }
        return;
      }
      copy_box(result.shape, reinterpret_cast<const T*>(operand(node, 0).data.data()),
               movement_map(graph_, node), out, {0, row_major_strides(result.shape)});
    });
  }

  /// Both gathers read element (outer, index, inner) of the operand seen as three axes around the gathered
  /// one.
  void gather(Value node, Array& result) {
    const Array &x = operand(node, 0), &indices = operand(node, 1);
    const auto axis = static_cast<std::size_t>(graph_.attrs(node).axes[0]);
    const std::int64_t length = x.shape[axis];
    const std::int64_t inner = element_count(std::span(x.shape).subspan(axis + 1));
    const bool along = graph_.op(node) == Op::take_along_axis;
    const std::int64_t per_outer = along ? indices.shape[axis] * inner : indices.elements() * inner;
    const Scalar missing = is_float(x.dtype)
                               ? Scalar::from_real(x.dtype, std::numeric_limits<long double>::quiet_NaN())
                               : Scalar{x.dtype, 0};
    visit_size(result.dtype, [&](auto type) {
      using T = decltype(type);
      const T* in = reinterpret_cast<const T*>(x.data.data());
      T* out = reinterpret_cast<T*>(result.data.data());
      for (std::int64_t i = 0; i < result.elements(); ++i) {
        const std::int64_t outer = i / per_outer;
        std::int64_t at = indices.at(along ? i : i % per_outer / inner).whole();
        if (at < 0) at += length;
        const bool inside = at >= 0 && at < length;
        out[i] = inside ? in[(outer * length + at) * inner + i % inner] : static_cast<T>(missing.bits);
      }
    });
  }

  void scatter(Value node, Array& result) {
    const ScatterPlan plan = plan_scatter(
        graph_, node, [&](std::size_t k, std::int64_t i) { return operand(node, k).at(i).whole(); });
    evaluate_scatter(operand(node, 0), plan, result);
  }

  void search(Value node, Array& result) {
    const Array& array = operand(node, 0);
    std::vector<std::int64_t> numbers(graph_.operands(node).size() - 1);
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        const Array& x = operand(node, k + 1);
        numbers[k] = x.at(x.shape.empty() ? 0 : i).whole();
      }
      const std::int64_t found = search_at(
          graph_.op(node), [&](std::int64_t at) { return array.at(at).whole(); }, array.elements(), numbers);
      result.set(i, Scalar::from_whole(DType::int64, found));
    }
  }

  void generate(Value node, Array& result) {
    const Attrs& attrs = graph_.attrs(node);
    if (graph_.op(node) == Op::constant) return result.set(0, attrs.value);
    if (graph_.op(node) == Op::iota) {
      const auto axis = static_cast<std::size_t>(attrs.axes[0]);
      const std::int64_t inner = element_count(std::span(result.shape).subspan(axis + 1));
      for (std::int64_t i = 0; i < result.elements(); ++i)
        result.set(i, Scalar::from_whole(result.dtype, i / inner % result.shape[axis]));
      return;
    }
    const std::int64_t key = operand(node, 0).at(0).whole(), counter = operand(node, 1).at(0).whole();
    for (std::int64_t i = 0; i < result.elements(); ++i)
      result.set(i, Scalar::from_whole(DType::int32, reference::random_bits(key, counter, i)));
  }

  const Graph& graph_;
  std::vector<const Array*> arrays_;
  std::vector<Array> owned_;
};

}  // namespace

std::vector<Array> evaluate_typed(const Graph& graph, std::span<const Array> inputs) {
  check_inputs(graph, inputs);
  return TypedEvaluator(graph, inputs).run();
}

Scalar evaluate_scalar(Op op, std::span<const Scalar> operands, const Attrs& attrs) {
  if (op == Op::cast) return operands[0].cast(attrs.dtype);
  const DTypeRule rule = elementwise_info(op).rule;
  const DType t = operands.back().dtype;
  Array result(rule == DTypeRule::test || rule == DTypeRule::compare ? DType::boolean : t, {});
  std::vector<Array> arrays;
  std::vector<ElementwiseOperand> elements;
  for (const Scalar& s : operands) arrays.emplace_back(s.dtype, std::vector<std::int64_t>{}).set(0, s);
  for (const Array& a : arrays) elements.push_back({a.dtype, a.data.data(), true});
  evaluate_elementwise(op, elements, result.dtype, result.data.data(), 1);
  return result.at(0);
}

void check_inputs(const Graph& graph, std::span<const Array> inputs) {
  if (inputs.size() != graph.inputs().size())
    fail<ValueError>("graph {}: takes {} inputs, got {}", graph.name(), graph.inputs().size(), inputs.size());
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    if (!graph.shape(Value{id}).is_constant())
      fail<ValueError>("graph {}: node {} has the symbolic shape {}; bind the symbols to numbers first",
                       graph.name(), id, graph.shape(Value{id}).str());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value v = graph.inputs()[i];
    if (inputs[i].dtype != graph.dtype(v) || inputs[i].shape != graph.shape(v).values())
      fail<ValueError>("graph {}: input {} ({}) must be {}{}, got {}[{}]", graph.name(), i,
                       graph.attrs(v).name, name(graph.dtype(v)), graph.shape(v).str(), name(inputs[i].dtype),
                       fmt::join(inputs[i].shape, ", "));
  }
}

}  // namespace sinter::ir
