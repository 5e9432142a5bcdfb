#include "codegen/lower.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "codegen/collapse.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

using ir::Dim;
using ir::Op;
using ir::Shape;
using ir::Value;
using Kind = KernelValue::Kind;

/// A node at an index, under conditions that must hold before memory is touched.
struct Instance {
  Value node;
  IndexMap map;
  std::vector<int> guards;  // into Lowering::guards_
  int value = -1;           // once emitted
};

class Lowering {
 public:
  Lowering(const ir::Graph& g, const passes::Group& group, const std::vector<std::optional<ir::View>>& views,
           const std::vector<passes::MathForm>& forms)
      : g_(g), group_(group), views_(views), forms_(forms) {}

  Kernel run() {
    for (const Dim& d : group_.domain) {
      kernel_.axes.push_back({d, false});
      kernel_.atoms.axis(d);
    }
    for (int axis : group_.reduced) {
      kernel_.axes[static_cast<std::size_t>(axis)].reduced = true;
      if (const Dim& length = group_.domain[axis]; !length.is(1)) kernel_.written_run = length;
    }
    for (Value v : group_.outputs) {
      const IndexMap map = root_map(g_.shape(v), after_rows(v));
      const int value = emit_all(request(v, map, {}));
      const int buffer = buffer_of(v, true);
      kernel_.stores.push_back({value, buffer, address(*views_of(v), map)});
    }
    kernel_.name = kernel_name();
    kernel_.facts = g_.facts();
    return std::move(kernel_);
  }

 private:
  /// Stored values are contiguous; inputs have whatever strides their views say.
  std::optional<ir::View> views_of(Value v) const {
    if (views_[v.id]) return views_[v.id];
    return ir::View{v, Dim(0), ir::contiguous_strides(g_.shape(v))};
  }
  bool member(Value v) const { return std::ranges::binary_search(group_.nodes, v); }
  bool after_rows(Value v) const { return std::ranges::binary_search(group_.after_rows, v); }

  /// Axes of the domain along which an output or a reduction's operand runs: all, or those of a row's one
  /// element. What is there after all rows runs along a row.
  std::vector<int> aligned_axes(const Shape& shape, bool after_rows) const {
    std::vector<int> all, kept, folded;
    for (int i = 0; i < group_.domain.rank(); ++i) {
      if (group_.domain[i].is(1)) continue;
      all.push_back(i);
      (kernel_.axes[static_cast<std::size_t>(i)].reduced ? folded : kept).push_back(i);
    }
    if (after_rows) return folded;
    std::vector<Dim> lengths;
    for (const Dim& d : shape)
      if (!d.is(1)) lengths.push_back(d);
    for (const std::vector<int>* axes : {&all, &kept})
      if (std::ranges::equal(lengths, *axes, [&](const Dim& d, int a) { return d == group_.domain[a]; }))
        return *axes;
    fail<InternalError>("a value of shape {} does not lie in the domain {}", shape.str(),
                        group_.domain.str());
  }

  IndexMap root_map(const Shape& shape, bool after_rows = false) const {
    const std::vector<int> axes = aligned_axes(shape, after_rows);
    IndexMap map;
    std::size_t next = 0;
    for (const Dim& d : shape) map.push_back(d.is(1) ? Affine::of(0) : Affine::atom(axes[next++]));
    return map;
  }

  int request(Value node, IndexMap map, std::vector<int> guards) {
    std::size_t h = node.id;
    for (const Affine& a : map) h = h * 31 + a.hash();
    for (int guard : guards) h = h * 31 + static_cast<std::size_t>(guard);
    for (auto [it, end] = memo_.equal_range(h); it != end; ++it) {
      const Instance& known = instances_[static_cast<std::size_t>(it->second)];
      if (known.node == node && known.map == map && known.guards == guards) return it->second;
    }
    const int id = static_cast<int>(instances_.size());
    instances_.push_back({node, std::move(map), std::move(guards), -1});
    memo_.emplace(h, id);
    return id;
  }

  /// Emits an instance and all that it needs, with a stack of its own.
  int emit_all(int root) {
    std::vector<int> stack{root};
    while (!stack.empty()) {
      const int id = stack.back();
      if (instances_[static_cast<std::size_t>(id)].value >= 0) {
        stack.pop_back();
        continue;
      }
      missing_.clear();
      const Instance instance = instances_[static_cast<std::size_t>(id)];
      const int value = emit(instance);
      if (missing_.empty())
        instances_[static_cast<std::size_t>(id)].value = value;
      else
        stack.insert(stack.end(), missing_.rbegin(), missing_.rend());  // so that the first is emitted first
    }
    return instances_[static_cast<std::size_t>(root)].value;
  }

  /// The value of an operand, or -1 with the operand noted as missing: emit is then tried again when it is
  /// there.
  int need(Value node, IndexMap map, const std::vector<int>& guards) {
    const int id = request(node, std::move(map), guards);
    const int value = instances_[static_cast<std::size_t>(id)].value;
    if (value < 0) missing_.push_back(id);
    return value;
  }

  int emit(const Instance& x) {
    const Op op = g_.op(x.node);
    if (views_[x.node.id] && !member(views_[x.node.id]->base)) return emit_load(x);
    if (op == Op::constant) return push_literal(g_.attrs(x.node).value);
    if (op == Op::iota) return emit_iota(x);
    if (op == Op::pad) return emit_pad(x);
    if (op == Op::concat) return emit_concat(x);
    if (ir::is_movement(op))
      return need(g_.operands(x.node)[0], operand_index(g_, x.node, x.map, kernel_.atoms), x.guards);
    SINTER_ASSERT(member(x.node), "{} is neither stored nor in the group", name(op));
    if (ir::is_reduction(op)) return emit_reduction(x);
    if (ir::is_gather(op)) return emit_gather(x);
    if (ir::is_scatter(op)) return emit_segments(x);
    if (ir::is_search(op)) return emit_search(x);
    if (op == Op::random_bits) return emit_random(x);
    return emit_elementwise(x);
  }

  int push(KernelValue v) {
    if (!missing_.empty()) return -1;
    kernel_.values.push_back(std::move(v));
    return static_cast<int>(kernel_.values.size()) - 1;
  }

  int push_literal(ir::Scalar s) {
    KernelValue v;
    v.kind = Kind::literal;
    v.dtype = s.dtype;
    v.literal = s;
    return push(std::move(v));
  }

  int push_compute(Op op, DType dtype, std::vector<int> operands) {
    KernelValue v;
    v.dtype = dtype;
    v.op = op;
    v.operands = std::move(operands);
    return push(std::move(v));
  }

  static Affine address(const ir::View& view, const IndexMap& map) {
    Affine a = Affine::of(view.offset);
    for (std::size_t i = 0; i < map.size(); ++i) a = a + map[i] * view.strides[i];
    return a;
  }

  int buffer_of(Value v, bool written) {
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i)
      if (kernel_.buffers[i].value == v && kernel_.buffers[i].written == written) return static_cast<int>(i);
    kernel_.buffers.push_back({v, g_.dtype(v), written});
    return static_cast<int>(kernel_.buffers.size()) - 1;
  }

  int emit_load(const Instance& x) {
    // No element is there to be read, not even by what is the same for all elements of an empty axis.
    if (g_.shape(x.node).is_empty()) return push_literal(ir::Scalar::from_whole(g_.dtype(x.node), 0));
    const int guard = all_of(x.guards);
    KernelValue v;
    v.kind = Kind::load;
    v.dtype = g_.dtype(x.node);
    v.buffer = buffer_of(views_[x.node.id]->base, false);
    v.address = address(*views_[x.node.id], x.map);
    v.guard = guard;
    return push(std::move(v));
  }

  int emit_iota(const Instance& x) {
    KernelValue v;
    v.kind = Kind::index;
    v.dtype = g_.dtype(x.node);
    v.address = x.map[static_cast<std::size_t>(g_.attrs(x.node).axes[0])];
    return push(std::move(v));
  }

  int emit_random(const Instance& x) {
    KernelValue v;
    v.kind = Kind::random;
    v.dtype = g_.dtype(x.node);
    v.operands = {need(g_.operands(x.node)[0], {}, {}), need(g_.operands(x.node)[1], {}, {})};
    const std::vector<Dim> strides = ir::contiguous_strides(g_.shape(x.node));
    for (std::size_t i = 0; i < x.map.size(); ++i) v.address = v.address + x.map[i] * strides[i];
    return push(std::move(v));
  }

  int emit_elementwise(const Instance& x) {
    std::vector<int> operands;
    for (Value operand : g_.operands(x.node))
      operands.push_back(need(operand, g_.shape(operand).rank() == 0 ? IndexMap{} : x.map, x.guards));
    const int value = push_compute(g_.op(x.node), g_.dtype(x.node), std::move(operands));
    if (value >= 0 && !forms_.empty())
      kernel_.values[static_cast<std::size_t>(value)].form = forms_[x.node.id];
    return value;
  }

  int emit_reduction(const Instance& x) {
    const Value operand = g_.operands(x.node)[0];
    // What is folded is read over the whole row, whatever conditions the reader of the result stands under.
    const int folded = need(operand, root_map(g_.shape(operand)), {});
    const ir::Attrs& attrs = g_.attrs(x.node);
    const bool nothing_to_fold = std::ranges::all_of(
        attrs.axes, [&](std::int64_t axis) { return g_.shape(operand)[static_cast<int>(axis)].is(1); });
    const Op op = g_.op(x.node);
    if (nothing_to_fold && folded >= 0)
      return ir::reduction_info(op).accumulator == ir::Accumulator::index
                 ? push_literal(ir::Scalar::from_whole(DType::int64, 0))
                 : folded;
    KernelValue v;
    v.kind = Kind::reduce;
    v.node = x.node;
    v.op = op;
    v.dtype = g_.dtype(x.node);
    v.operands = {folded};
    v.across = after_rows(x.node);
    return push(std::move(v));
  }

  /// The conjunction of guards as a bool value; -1 for none.
  int all_of(const std::vector<int>& guards) {
    int both = -1;
    for (int guard : guards) {
      int& value = guard_values_[static_cast<std::size_t>(guard)];
      if (value < 0) {
        KernelValue v;
        v.kind = Kind::inside;
        v.dtype = DType::boolean;
        v.range = guards_[static_cast<std::size_t>(guard)];
        value = push(std::move(v));
      }
      both = both < 0 ? value : push_compute(Op::logical_and, DType::boolean, {both, value});
    }
    return both;
  }

  int guard_number(Guard guard) {
    const auto at = std::ranges::find(guards_, guard);
    if (at != guards_.end()) return static_cast<int>(at - guards_.begin());
    guards_.push_back(std::move(guard));
    guard_values_.push_back(-1);
    return static_cast<int>(guards_.size()) - 1;
  }

  std::vector<int> with(std::vector<int> guards, const std::vector<int>& more) {
    guards.insert(guards.end(), more.begin(), more.end());
    std::ranges::sort(guards);
    guards.erase(std::ranges::unique(guards).begin(), guards.end());
    return guards;
  }

  int emit_pad(const Instance& x) {
    const Value operand = g_.operands(x.node)[0];
    const ir::Attrs& attrs = g_.attrs(x.node);
    const Shape& from = g_.shape(operand);
    IndexMap map = x.map;
    std::vector<int> own;
    for (int i = 0; i < from.rank(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (attrs.starts[k].is(0) && attrs.ends[k].is(0)) continue;
      map[k] = map[k] + Affine::of(Dim(0) - attrs.starts[k]);
      own.push_back(guard_number({map[k], from[i]}));
    }
    const int inside = need(operand, std::move(map), with(x.guards, own));
    if (own.empty() || inside < 0) return inside;
    const int condition = all_of(own);
    return push_compute(Op::where, g_.dtype(x.node), {condition, inside, push_literal(attrs.value)});
  }

  int emit_concat(const Instance& x) {
    const std::span<const Value> operands = g_.operands(x.node);
    const auto axis = static_cast<std::size_t>(g_.attrs(x.node).axes[0]);
    Dim start(0);
    std::vector<int> own, parts;
    for (Value operand : operands) {
      IndexMap map = x.map;
      map[axis] = map[axis] + Affine::of(Dim(0) - start);
      const Dim& length = g_.shape(operand)[static_cast<int>(axis)];
      own.push_back(guard_number({map[axis], length}));
      parts.push_back(need(operand, std::move(map), with(x.guards, {own.back()})));
      start = start + length;
    }
    if (!missing_.empty()) return -1;
    int result = parts.back();
    for (std::size_t i = parts.size() - 1; i-- > 0;)
      result = push_compute(Op::where, g_.dtype(x.node), {all_of({own[i]}), parts[i], result});
    return result;
  }

  /// An index that the kernel computes, made fit for an axis of that length.
  Affine index_along(Kind kind, int raw, Value node, const Dim& length) {
    int& index = indices_[{raw, node.id}];
    if (index == 0) {
      KernelValue v;
      v.kind = kind;
      v.dtype = DType::int64;
      v.operands = {raw};
      v.length = length;
      index = push(std::move(v)) + 1;  // 0 stands for none
    }
    return Affine::atom(kernel_.atoms.value(index - 1, length));
  }

  /// Each row folds its part of the order, from its start to the next.
  int emit_segments(const Instance& x) {
    const Value source = g_.operands(x.node)[0], order = g_.operands(x.node)[1],
                starts = g_.operands(x.node)[2];
    const auto axis = static_cast<std::size_t>(g_.attrs(x.node).axes[0]);
    const auto atom = [&](std::size_t i) {
      return group_.domain[static_cast<int>(i)].is(1) ? Affine::of(0) : Affine::atom(static_cast<int>(i));
    };
    const int raw = need(order, {atom(axis + 1)}, {});
    if (raw < 0) return -1;
    IndexMap map;
    for (std::size_t i = 0; i < static_cast<std::size_t>(g_.shape(source).rank()); ++i)
      map.push_back(i == axis ? index_along(Kind::within, raw, x.node, g_.shape(source)[static_cast<int>(i)])
                              : atom(i < axis ? i : i + 1));
    const int term = need(source, std::move(map), {});
    if (term < 0) return -1;
    const ir::View& view = *views_[starts.id];
    KernelAxis& folded = kernel_.axes[axis + 1];
    folded.bounds = buffer_of(view.base, false);
    folded.first = address(view, {atom(axis)});
    folded.end = folded.first + Affine::of(view.strides[0]);
    KernelValue v;
    v.kind = Kind::reduce;
    v.node = x.node;
    v.op = Op::sum;
    v.dtype = g_.dtype(x.node);
    v.operands = {term};
    return push(std::move(v));
  }

  int emit_search(const Instance& x) {
    const std::span<const Value> operands = g_.operands(x.node);
    const ir::View& view = *views_[operands[0].id];
    KernelValue v;
    v.kind = Kind::search;
    v.op = g_.op(x.node);
    v.dtype = g_.dtype(x.node);
    for (Value operand : operands.subspan(1))
      v.operands.push_back(need(operand, g_.shape(operand).rank() == 0 ? IndexMap{} : x.map, x.guards));
    v.buffer = buffer_of(view.base, false);
    v.address = Affine::of(view.offset);
    v.length = g_.shape(operands[0])[0];
    v.stride = view.strides[0];
    return push(std::move(v));
  }

  int emit_gather(const Instance& x) {
    const Value data = g_.operands(x.node)[0], index = g_.operands(x.node)[1];
    const auto axis = static_cast<std::size_t>(g_.attrs(x.node).axes[0]);
    const auto index_rank = static_cast<std::size_t>(g_.shape(index).rank());
    const bool along = g_.op(x.node) == Op::take_along_axis;
    // take's index has axes of its own in place of the data's axis; take_along_axis' is of the result's
    // shape.
    IndexMap index_map = along ? x.map
                               : IndexMap(x.map.begin() + static_cast<std::ptrdiff_t>(axis),
                                          x.map.begin() + static_cast<std::ptrdiff_t>(axis + index_rank));
    const int raw = need(index, std::move(index_map), x.guards);
    if (raw < 0) return -1;
    const Dim& length = g_.shape(data)[static_cast<int>(axis)];
    const Affine place = index_along(Kind::wrap, raw, x.node, length);
    IndexMap map(x.map.begin(), x.map.begin() + static_cast<std::ptrdiff_t>(axis));
    map.push_back(place);
    map.insert(map.end(), x.map.begin() + static_cast<std::ptrdiff_t>(axis + (along ? 1 : index_rank)),
               x.map.end());
    const int guard = guard_number({place, length});
    const int found = need(data, std::move(map), with(x.guards, {guard}));
    if (found < 0) return -1;
    const DType t = g_.dtype(x.node);
    const int nothing =
        push_literal(is_float(t) ? ir::Scalar::from_real(t, std::numeric_limits<double>::quiet_NaN())
                                 : ir::Scalar::from_whole(t, 0));
    return push_compute(Op::where, t, {all_of({guard}), found, nothing});
  }

  /// "fused_mul_tanh_add": the group's operations, each named once, in order; the most costly ones where
  /// there are many.
  std::string kernel_name() const {
    std::vector<Op> ops;
    for (Value v : group_.nodes)
      if (const Op op = g_.op(v); op != Op::cast && std::ranges::find(ops, op) == ops.end())
        ops.push_back(op);
    constexpr std::size_t most = 6;
    auto weight = [](Op op) { return ir::is_elementwise(op) ? ir::elementwise_info(op).flops : 100; };
    while (ops.size() > most) ops.erase(std::ranges::min_element(ops, {}, weight));
    if (ops.empty()) ops.push_back(g_.op(group_.nodes.back()));
    // The prefix keeps the name apart from the functions of the C library, which kernels may call.
    std::string text = group_.nodes.size() > 1 ? "fused" : "single";
    for (Op op : ops) text += fmt::format("_{}", name(op));
    return text;
  }

  const ir::Graph& g_;
  const passes::Group& group_;
  const std::vector<std::optional<ir::View>>& views_;
  const std::vector<passes::MathForm>& forms_;
  Kernel kernel_;
  std::vector<Instance> instances_;
  std::unordered_multimap<std::size_t, int> memo_;
  std::vector<int> missing_;
  std::vector<Guard> guards_;
  std::vector<int> guard_values_;
  std::map<std::pair<int, std::uint32_t>, int> indices_;
};

}  // namespace

Kernel lower(const ir::Graph& graph, const passes::Group& group,
             const std::vector<std::optional<ir::View>>& views, const std::vector<passes::MathForm>& forms) {
  return collapse(Lowering(graph, group, views, forms).run());
}

}  // namespace sinter::codegen
