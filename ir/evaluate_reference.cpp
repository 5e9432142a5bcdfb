#include "ir/evaluate_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/base/check.h"
#include "ir/evaluate_typed.h"
#include "ir/liveness.h"
#include "ir/reference_math.h"
#include "ir/scatter.h"
#include "ir/strided.h"

namespace sinter::ir {
namespace {

constexpr long double nan = std::numeric_limits<long double>::quiet_NaN();

long double round_to(DType t, long double value) {
  return decode_float(t, encode_float(t, value));
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// The elements of an Exact as long double or int64.
template <class T>
auto& elements_of(auto& exact) {
  if constexpr (std::is_same_v<T, long double>)
    return exact.reals;
  else
    return exact.wholes;
}

template <class F>
void visit_exact(DType t, F&& f) {
  is_float(t) ? f(0.0L) : f(std::int64_t{});
}

/// Folds a sequence in pairs of equal weight: error grows with the logarithm of its length.
template <class T, class Combine>
class PairwiseFold {
 public:
  explicit PairwiseFold(Combine combine) : combine_(combine) {}

  void push(T value) {
    for (std::uint64_t n = count_++; n & 1; n >>= 1) {
      value = combine_(partial_.back(), value);
      partial_.pop_back();
    }
    partial_.push_back(value);
  }
  bool empty() const { return count_ == 0; }
  T finish() {
    T total = partial_.back();
    for (std::size_t i = partial_.size() - 1; i-- > 0;) total = combine_(partial_[i], total);
    partial_.clear();
    count_ = 0;
    return total;
  }

 private:
  Combine combine_;
  std::vector<T> partial_;
  std::uint64_t count_ = 0;
};

/// One node on operands that have been evaluated.
class NodeEvaluator {
 public:
  NodeEvaluator(const Graph& graph, Value node, std::span<const Exact* const> operands)
      : graph_(graph), node_(node), operands_(operands) {}

  Exact run() {
    Exact y(graph_.dtype(node_), graph_.shape(node_).values());
    switch (family(graph_.op(node_))) {
      case Family::elementwise:
        elementwise(y);
        break;
      case Family::reduction:
        reduction(y);
        break;
      case Family::movement:
        movement(y);
        break;
      case Family::gather:
        gather(y);
        break;
      case Family::scatter:
        visit_exact(y.dtype, [&](auto type) { scatter<decltype(type)>(y); });
        break;
      case Family::search:
        search(y);
        break;
      case Family::contraction:
        matmul(y);
        break;
      case Family::generator:
        generate(y);
        break;
    }
    return y;
  }

 private:
  const Exact& operand(std::size_t k) const { return *operands_[k]; }

  /// Element i of an operand (its only one, for a scalar) as a float, rounded when its reader is discrete.
  static long double real(const Exact& x, std::int64_t i, bool rounded) {
    const std::size_t k = x.shape.empty() ? 0 : at(i);
    if (!is_float(x.dtype)) return static_cast<long double>(x.wholes[k]);
    return rounded ? round_to(x.dtype, x.reals[k]) : x.reals[k];
  }
  static std::int64_t whole(const Exact& x, std::int64_t i) { return x.wholes[x.shape.empty() ? 0 : at(i)]; }

  static void set_real(Exact& y, std::int64_t i, long double value) {
    if (is_float(y.dtype))
      y.reals[at(i)] = value;
    else
      y.wholes[at(i)] = saturate(y.dtype, value);
  }

  void elementwise(Exact& y) {
    const ElementwiseInfo& info = elementwise_info(graph_.op(node_));
    if (info.op == Op::cast) return cast(operand(0), y);
    std::array<const Exact*, 3> x{};
    for (std::size_t k = 0; k < 3; ++k) x[k] = &operand(std::min(k, operands_.size() - 1));
    const DType t = x[2]->dtype;  // the last operand's; the first may be the condition of a select
    const bool rounded = info.is(Flag::discrete);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (is_float(t))
        set_real(
            y, i,
            info.float_reference(real(*x[0], i, rounded), real(*x[1], i, rounded), real(*x[2], i, rounded)));
      else
        y.wholes[at(i)] =
            wrap(y.dtype, info.whole_reference(whole(*x[0], i), whole(*x[1], i), whole(*x[2], i), t));
    }
  }

  static void cast(const Exact& x, Exact& y) {
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (is_float(y.dtype))
        y.reals[at(i)] = round_to(y.dtype, real(x, i, false));
      else if (is_float(x.dtype))
        y.wholes[at(i)] = Scalar::from_real(y.dtype, real(x, i, true)).whole();
      else
        y.wholes[at(i)] = Scalar::from_whole(y.dtype, whole(x, i)).whole();
    }
  }

  void reduction(Exact& y) {
    const Exact& x = operand(0);
    std::vector<std::int64_t> kept_shape, kept_strides, folded_shape, folded_strides;
    const std::vector<std::int64_t> strides = row_major_strides(x.shape);
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
      const bool folds = std::ranges::count(graph_.attrs(node_).axes, static_cast<std::int64_t>(axis)) > 0;
      (folds ? folded_shape : kept_shape).push_back(x.shape[axis]);
      (folds ? folded_strides : kept_strides).push_back(strides[axis]);
    }
    const ReductionInfo& info = reduction_info(graph_.op(node_));
    std::int64_t i = 0;
    for (Walk<1> kept(kept_shape, {kept_strides}); !kept.done(); kept.next(), ++i) {
      Walk<1> folded(folded_shape, {folded_strides});
      if (info.accumulator == Accumulator::index)
        y.wholes[at(i)] = index_of_extreme(x, info.combine, kept.offset(0), folded);
      else
        visit_exact(x.dtype, [&](auto type) { fold<decltype(type)>(x, info, kept.offset(0), folded, y, i); });
    }
  }

  template <class T>
  static void fold(const Exact& x, const ReductionInfo& info, std::int64_t offset, Walk<1>& walk, Exact& y,
                   std::int64_t i) {
    const ElementwiseInfo& combine = elementwise_info(info.combine);
    auto apply = [&](T a, T b) -> T {
      if constexpr (std::is_same_v<T, long double>)
        return combine.float_reference(a, b, b);
      else
        return wrap(y.dtype, combine.whole_reference(a, b, b, x.dtype));
    };
    PairwiseFold<T, decltype(apply)> fold(apply);
    for (; !walk.done(); walk.next()) fold.push(elements_of<T>(x)[at(offset + walk.offset(0))]);
    elements_of<T>(y)[at(i)] = fold.empty() ? T(info.identity == Identity::one) : fold.finish();
  }

  /// The index among the folded elements of the first NaN, else of the first of the extremes.
  static std::int64_t index_of_extreme(const Exact& x, Op combine, std::int64_t offset, Walk<1>& walk) {
    std::int64_t best_index = 0, index = 0;
    long double best = 0;
    for (; !walk.done(); walk.next(), ++index) {
      const long double value = real(x, offset + walk.offset(0), true);  // exact for int64, too
      const bool better = combine == Op::maximum ? value > best : value < best;
      if (index > 0 && (std::isnan(best) || !(better || std::isnan(value)))) continue;
      best = value;
      best_index = index;
    }
    return best_index;
  }

  void movement(Exact& y) {
    visit_exact(y.dtype, [&](auto type) { move<decltype(type)>(y); });
  }

  template <class T>
  void move(Exact& y) {
    std::vector<T>& out = elements_of<T>(y);
    const Op op = graph_.op(node_);
    auto place = [&](const Exact& x, const StridedMap& box) {
      copy_box(x.shape, elements_of<T>(x).data(), {0, row_major_strides(x.shape)}, out.data(), box);
    };
    if (op == Op::reshape) {
      out = elements_of<T>(operand(0));
    } else if (op == Op::pad) {
      const Scalar value = graph_.attrs(node_).value;
      std::ranges::fill(out,
                        is_float(value.dtype) ? static_cast<T>(value.real()) : static_cast<T>(value.bits));
      place(operand(0), pad_box(graph_, node_));
    } else if (op == Op::concat) {
      std::int64_t position = 0;
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        place(operand(k), concat_box(graph_, node_, position));
        position += operand(k).shape[at(graph_.attrs(node_).axes[0])];
      }
    } else {
      copy_box(y.shape, elements_of<T>(operand(0)).data(), movement_map(graph_, node_), out.data(),
               {0, row_major_strides(y.shape)});
    }
  }

  void gather(Exact& y) {
    const Exact &x = operand(0), &indices = operand(1);
    const std::size_t axis = at(graph_.attrs(node_).axes[0]);
    const std::vector<std::int64_t> strides = row_major_strides(x.shape);
    const bool along = graph_.op(node_) == Op::take_along_axis;
    // The result's axes are those of the operand, but for `axis`, which stands for all axes of the index.
    std::vector<std::int64_t> in_operand(strides), in_index;
    in_operand[axis] = 0;
    if (!along) {
      in_operand.erase(in_operand.begin() + static_cast<std::ptrdiff_t>(axis));
      in_operand.insert(in_operand.begin() + static_cast<std::ptrdiff_t>(axis), indices.shape.size(), 0);
      in_index.assign(y.shape.size(), 0);
      std::ranges::copy(row_major_strides(indices.shape),
                        in_index.begin() + static_cast<std::ptrdiff_t>(axis));
    } else {
      in_index = row_major_strides(indices.shape);
    }
    std::int64_t i = 0;
    for (Walk<2> walk(y.shape, {in_operand, in_index}); !walk.done(); walk.next(), ++i) {
      std::int64_t position = indices.wholes[at(walk.offset(1))];
      if (position < 0) position += x.shape[axis];
      const bool inside = position >= 0 && position < x.shape[axis];
      const std::int64_t source = walk.offset(0) + position * strides[axis];
      if (is_float(x.dtype))
        y.reals[at(i)] = inside ? x.reals[at(source)] : nan;
      else
        y.wholes[at(i)] = inside ? x.wholes[at(source)] : 0;
    }
  }

  template <class T>
  void scatter(Exact& y) {
    const ScatterPlan plan =
        plan_scatter(graph_, node_, [&](std::size_t k, std::int64_t i) { return operand(k).wholes[at(i)]; });
    auto add = [&](T a, T b) -> T {
      if constexpr (std::is_same_v<T, long double>)
        return a + b;
      else
        return wrap(y.dtype, elementwise_info(Op::add).whole_reference(a, b, b, y.dtype));
    };
    PairwiseFold<T, decltype(add)> sum(add);
    std::int64_t i = 0;
    for (std::int64_t outer = 0; outer < plan.outer; ++outer)
      for (std::int64_t row = 0; row < plan.rows; ++row)
        for (std::int64_t inner = 0; inner < plan.inner; ++inner, ++i) {
          for (std::int64_t k = plan.first[at(row)]; k < plan.end[at(row)]; ++k)
            sum.push(elements_of<T>(
                operand(0))[at((outer * plan.slices + plan.order[at(k)]) * plan.inner + inner)]);
          elements_of<T>(y)[at(i)] = sum.empty() ? T(0) : sum.finish();
        }
  }

  void search(Exact& y) {
    std::vector<std::int64_t> numbers(operands_.size() - 1);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = whole(operand(k + 1), i);
      y.wholes[at(i)] = search_at(
          graph_.op(node_), [&](std::int64_t place) { return operand(0).wholes[at(place)]; },
          operand(0).elements(), numbers);
    }
  }

  void matmul(Exact& y) {
    visit_exact(y.dtype, [&](auto type) { multiply<decltype(type)>(operand(0), operand(1), y); });
  }

  template <class T>
  static void multiply(const Exact& a, const Exact& b, Exact& y) {
    const std::int64_t inner = a.shape.back(), columns = b.shape.back();
    const std::int64_t rows = a.shape[a.shape.size() - 2];
    auto add = [](T p, T q) -> T {
      return static_cast<T>(std::is_same_v<T, long double>
                                ? p + q
                                : elementwise_info(Op::add).whole_reference(static_cast<std::int64_t>(p),
                                                                            static_cast<std::int64_t>(q), 0,
                                                                            DType::int64));
    };
    PairwiseFold<T, decltype(add)> sum(add);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t row = i / columns, column = i % columns, matrix = row / rows;
      for (std::int64_t k = 0; k < inner; ++k) {
        const T left = elements_of<T>(a)[at(row * inner + k)];
        const T right = elements_of<T>(b)[at((matrix * inner + k) * columns + column)];
        if constexpr (std::is_same_v<T, long double>)
          sum.push(left * right);
        else
          sum.push(elementwise_info(Op::mul).whole_reference(left, right, 0, y.dtype));
      }
      const T total = sum.empty() ? T(0) : sum.finish();
      if constexpr (std::is_same_v<T, long double>)
        y.reals[at(i)] = total;
      else
        y.wholes[at(i)] = wrap(y.dtype, total);
    }
  }

  void generate(Exact& y) {
    const Attrs& attrs = graph_.attrs(node_);
    const Op op = graph_.op(node_);
    const std::int64_t inner =
        op == Op::iota ? element_count(std::span<const std::int64_t>(y.shape).subspan(at(attrs.axes[0]) + 1))
                       : 1;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      Scalar value = attrs.value;
      if (op == Op::iota) value = Scalar::from_whole(y.dtype, i / inner % y.shape[at(attrs.axes[0])]);
      if (op == Op::random_bits)
        value = Scalar::from_whole(y.dtype,
                                   reference::random_bits(operand(0).wholes[0], operand(1).wholes[0], i));
      if (is_float(y.dtype))
        y.reals[at(i)] = value.real();
      else
        y.wholes[at(i)] = value.whole();
    }
  }

  const Graph& graph_;
  Value node_;
  std::span<const Exact* const> operands_;
};

}  // namespace

Exact::Exact(DType dtype, std::vector<std::int64_t> shape) : dtype(dtype), shape(std::move(shape)) {
  const auto n = static_cast<std::size_t>(elements());
  is_float(dtype) ? reals.resize(n) : wholes.resize(n);
}

Exact::Exact(const Array& array) : Exact(array.dtype, array.shape) {
  for (std::int64_t i = 0; i < elements(); ++i) {
    if (is_float(dtype))
      reals[static_cast<std::size_t>(i)] = array.at(i).real();
    else
      wholes[static_cast<std::size_t>(i)] = array.at(i).whole();
  }
}

std::int64_t Exact::elements() const {
  return element_count(shape);
}

Scalar Exact::at(std::int64_t index) const {
  if (is_float(dtype)) return Scalar::from_real(dtype, reals[static_cast<std::size_t>(index)]);
  return Scalar::from_whole(dtype, wholes[static_cast<std::size_t>(index)]);
}

Array Exact::rounded() const {
  Array array(dtype, shape);
  for (std::int64_t i = 0; i < elements(); ++i) array.set(i, at(i));
  return array;
}

Exact evaluate_reference_node(const Graph& graph, Value node, std::span<const Exact* const> operands) {
  return NodeEvaluator(graph, node, operands).run();
}

std::vector<Exact> evaluate_reference(const Graph& graph, std::span<const Array> inputs) {
  check_inputs(graph, inputs);
  const std::vector<std::uint32_t> last = last_readers(graph);
  std::vector<Exact> values(graph.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const Value v = graph.inputs()[i]; last[v.id] != never_read) values[v.id] = Exact(inputs[i]);
  std::vector<const Exact*> operands;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Value node{id};
    if (last[id] == never_read || graph.op(node) == Op::input) continue;
    operands.clear();
    for (Value operand : graph.operands(node)) operands.push_back(&values[operand.id]);
    values[id] = evaluate_reference_node(graph, node, operands);
    for (Value operand : graph.operands(node))
      if (last[operand.id] == id) values[operand.id] = Exact();
  }
  std::vector<Exact> outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(values[output.value.id]);
  return outputs;
}

}  // namespace sinter::ir
