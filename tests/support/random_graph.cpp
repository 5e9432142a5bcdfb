#include "tests/support/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/verify.h"
#include "sinter/error.h"
#include "tests/support/random.h"

namespace sinter::testing {
namespace {

using ir::Family;
using ir::Graph;
using ir::Literal;
using ir::Op;
using ir::Operand;
using ir::Shape;
using ir::Value;

std::vector<Op> ops_of(Family family, bool exact_only) {
  std::vector<Op> ops;
  for (Op op : ir::all_ops)
    if (ir::family(op) == family && op != Op::cast &&
        !(exact_only && ir::is_elementwise(op) && !ir::elementwise_info(op).is(ir::Flag::exact)))
      ops.push_back(op);
  return ops;
}

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), g_("random") {}

  Graph run() {
    make_inputs();
    int made = 0;
    for (int attempt = 0; made < options_.nodes && attempt < 50 * options_.nodes; ++attempt) {
      try {
        if (accept(make())) ++made;
      } catch (const Error&) {
        // An operation that its operands do not admit; what was made for it on the way stays, unused.
      }
    }
    g_.output(pool_.back());
    for (std::int64_t more = random_.between(0, 3); more > 0; --more)
      g_.output(recent(), random_.chance(0.5) ? "" : fmt::format("named{}", g_.outputs().size()));
    ir::verify(g_);
    return std::move(g_);
  }

 private:
  std::vector<std::int64_t> random_shape() {
    std::vector<std::int64_t> shape;
    std::int64_t elements = 1;
    for (std::int64_t rank = random_.between(0, options_.rank); rank > 0; --rank) {
      const std::int64_t length = random_.pick(options_.lengths);
      if (elements * length > options_.elements) break;
      shape.push_back(length);
      elements *= std::max<std::int64_t>(length, 1);
    }
    return shape;
  }

  static Shape as_shape(const std::vector<std::int64_t>& lengths) {
    return Shape(std::vector<ir::Dim>(lengths.begin(), lengths.end()));
  }

  /// Inputs that mostly broadcast against each other: of one shape, some axes 1, or only its last axes.
  void make_inputs() {
    const std::vector<std::int64_t> base = random_shape();
    for (std::int64_t i = 0, n = random_.between(1, 4); i < n; ++i) {
      std::vector<std::int64_t> shape = i > 0 && random_.chance(0.15) ? random_shape() : base;
      if (i > 0 && random_.chance(0.3) && !shape.empty()) shape[random_.below(shape.size())] = 1;
      if (i > 0 && random_.chance(0.3))
        shape.erase(shape.begin(),
                    shape.begin() + random_.between(0, static_cast<std::int64_t>(shape.size())));
      pool_.push_back(g_.input(fmt::format("x{}", i), random_.pick(options_.dtypes), as_shape(shape)));
    }
  }

  /// A value made before, rather a late one, so that chains get long.
  Value recent() {
    const std::size_t back = random_.chance(0.6) ? random_.below(std::min<std::size_t>(pool_.size(), 3))
                                                 : random_.below(pool_.size());
    return pool_[pool_.size() - 1 - back];
  }

  bool accept(Value v) {
    if (!g_.shape(v).is_constant() || g_.shape(v).elements().value() > options_.elements) return false;
    const auto& allowed = options_.dtypes;
    if (std::ranges::find(allowed, g_.dtype(v)) == allowed.end() && !is_bool(g_.dtype(v)) &&
        g_.dtype(v) != int64 && g_.dtype(v) != f32)
      return false;
    if (std::ranges::find(pool_, v) != pool_.end()) return false;
    pool_.push_back(v);
    return true;
  }

  Value make() {
    if (random_.chance(0.1)) return ir::cast(g_, recent(), random_.pick(options_.dtypes));
    const Family family = random_.chance(0.5) ? Family::elementwise : random_.pick(options_.families);
    switch (family) {
      case Family::elementwise:
        return elementwise();
      case Family::reduction:
        return reduction();
      case Family::movement:
        return movement();
      case Family::gather:
        return gather();
      case Family::scatter:
        return scatter();
      case Family::search:
        return search();
      case Family::contraction:
        return ir::matmul(g_, recent(), recent());
      case Family::generator:
        break;
    }
    return ir::iota(g_, g_.shape(recent()), random_.between(-1, 0), random_.pick(options_.dtypes));
  }

  Literal literal() {
    if (random_.chance(0.4)) return {std::int64_t{random_.between(-3, 7)}};
    return {static_cast<double>(random_.between(-16, 16)) / 8};
  }

  Value elementwise() {
    const Op op = random_.pick(ops_of(Family::elementwise, options_.exact_only));
    std::vector<Operand> operands;
    for (int i = 0; i < ir::elementwise_info(op).arity; ++i) {
      if (i > 0 && random_.chance(0.25))
        operands.emplace_back(literal());
      else
        operands.emplace_back(recent());
    }
    return ir::elementwise(g_, op, operands);
  }

  std::vector<std::int64_t> some_axes(int rank) {
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < rank; ++axis)
      if (random_.chance(0.5)) axes.push_back(random_.chance(0.3) ? axis - rank : axis);
    return axes;
  }

  Value reduction() {
    const Value x = recent();
    std::vector<std::int64_t> axes = some_axes(g_.shape(x).rank());
    return ir::reduce(g_, random_.pick(ops_of(Family::reduction, false)), x, std::move(axes),
                      random_.chance(0.5));
  }

  Value movement() {
    const Op op = random_.pick(ops_of(Family::movement, false));
    const Value x = recent();
    const std::vector<std::int64_t> shape = g_.shape(x).values();
    if (op == Op::permute_dims) {
      std::vector<std::int64_t> axes;
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        axes.insert(axes.begin() + random_.between(0, static_cast<std::int64_t>(axis)),
                    static_cast<std::int64_t>(axis));
      return ir::permute_dims(g_, x, std::move(axes));
    }
    if (op == Op::broadcast_to) {
      std::vector<std::int64_t> wider = shape;
      for (std::int64_t& length : wider)
        if (length == 1) length = random_.pick(options_.lengths);
      if (random_.chance(0.5)) wider.insert(wider.begin(), random_.between(1, 3));
      return ir::broadcast_to(g_, x, as_shape(wider));
    }
    if (op == Op::reshape) return reshape(x, shape);
    if (op == Op::slice) return slice(x, shape);
    if (op == Op::flip) return ir::flip(g_, x, some_axes(static_cast<int>(shape.size())));
    if (op == Op::concat) {
      const std::vector<Value> tensors(static_cast<std::size_t>(random_.between(2, 3)), x);
      const std::vector<Value> pair{x, recent()};
      return ir::concat(g_, random_.chance(0.5) ? pair : tensors, random_.between(-1, 1));
    }
    std::vector<std::int64_t> before, after;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      before.push_back(random_.between(0, 2));
      after.push_back(random_.between(0, 2));
    }
    return ir::pad(g_, x, before, after, literal());
  }

  /// Two neighbouring axes joined, or one split by a divisor.
  Value reshape(Value x, std::vector<std::int64_t> shape) {
    if (shape.empty()) return ir::reshape(g_, x, {1});
    const std::size_t axis = random_.below(shape.size());
    if (axis + 1 < shape.size() && random_.chance(0.5)) {
      shape[axis] *= shape[axis + 1];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    } else {
      const std::int64_t divisor = random_.between(1, 4);
      if (shape[axis] % divisor != 0) return ir::reshape(g_, x, {-1});
      shape[axis] /= divisor;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), divisor);
    }
    return ir::reshape(g_, x, as_shape(shape));
  }

  Value slice(Value x, const std::vector<std::int64_t>& shape) {
    std::vector<ir::Range> ranges;
    for (std::int64_t length : shape) {
      ir::Range range;
      if (random_.chance(0.6)) range.start = random_.between(-length, length);
      if (random_.chance(0.6)) range.stop = random_.between(-length, length);
      if (random_.chance(0.4)) range.step = random_.chance(0.5) ? -1 : random_.between(1, 3);
      ranges.push_back(range);
    }
    return ir::slice(g_, x, ranges);
  }

  Value gather() {
    const Value x = recent();
    const int rank = g_.shape(x).rank();
    if (rank == 0) return x;
    const std::int64_t axis = random_.between(0, rank - 1),
                       length = g_.shape(x)[static_cast<int>(axis)].value();
    if (random_.chance(0.5)) {
      const Value index = ir::iota(g_, {random_.between(1, 5)}, 0, int64);
      const Operand shifted[] = {index, Literal{random_.between(-length - 1, length)}};
      return ir::take(g_, x, ir::elementwise(g_, Op::add, shifted), axis);
    }
    const Operand reversed[] = {Literal{length - 1}, ir::iota(g_, g_.shape(x), axis, int32)};
    return ir::take_along_axis(g_, x, ir::elementwise(g_, Op::sub, reversed), axis);
  }

  /// Indices that repeat, some of them out of range.
  Value scatter() {
    const Value x = recent();
    const int rank = g_.shape(x).rank();
    if (rank == 0) return x;
    const std::int64_t axis = random_.between(0, rank - 1), length = random_.between(1, 9);
    const Operand squared[] = {ir::iota(g_, {g_.shape(x)[static_cast<int>(axis)]}, 0, int64),
                               Literal{random_.between(1, 5)}};
    const Operand repeated[] = {ir::elementwise(g_, Op::mul, squared), Literal{length + 1}};
    const Operand shifted[] = {ir::elementwise(g_, Op::remainder, repeated),
                               Literal{random_.between(0, length)}};
    return ir::scatter_add(g_, x, ir::elementwise(g_, Op::sub, shifted), axis, length);
  }

  Value search() {
    const std::int64_t length = random_.between(1, 40);
    const Value array = ir::iota(g_, {length}, 0, int64);
    const Operand number[] = {ir::cast(g_, recent(), int64)};
    return ir::search(g_, Op::count_below, array, number);
  }

  Random random_;
  const RandomGraphOptions& options_;
  Graph g_;
  std::vector<Value> pool_;
};

}  // namespace

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).run();
}

std::vector<ir::Array> random_inputs(const Graph& graph, std::uint64_t seed, double special) {
  Random random(seed);
  using Limits = std::numeric_limits<long double>;
  std::vector<ir::Array> arrays;
  for (Value v : graph.inputs()) {
    const DType t = graph.dtype(v);
    ir::Array& array = arrays.emplace_back(t, graph.shape(v).values());
    const long double huge = t == f64 ? 0x1p1000L : is_float(t) ? 0x1p15L : 0x1p62L;
    const long double tiny = t == f64 ? 0x1p-1070L : t == f16 ? 0x1p-24L : t == bf16 ? 0x1p-130L : 0x1p-149L;
    const long double specials[] = {
        0.0L, -0.0L, 1.0L, -1.0L, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), huge, -huge,
        tiny, -tiny, 0.5L, 2.5L};
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      const long double number =
          is_float(t) ? (random.uniform() - 0.5) * 4 : std::floor(random.uniform() * 12) - 4;
      array.set(i, ir::Scalar::from_real(t, random.chance(special) ? random.pick(specials) : number));
    }
  }
  return arrays;
}

}  // namespace sinter::testing
