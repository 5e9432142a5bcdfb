#include "frontend/random.h"

#include <mutex>
#include <numbers>

#include "frontend/capture.h"
#include "frontend/dispatch.h"
#include "frontend/errors.h"
#include "ir/base/check.h"
#include "sinter/compile_traits.h"
#include "sinter/create.h"

namespace sinter {
namespace frontend {
namespace {

/// Blocks of random bits that one draw may use: two numbers of 53 bits each for a normal one.
constexpr std::int64_t blocks_per_draw = 4;

struct Sequence {
  std::mutex mutex;
  std::int64_t seed = 0;
  std::int64_t counter = 0;
};

Sequence& sequence() {
  static Sequence the_sequence;
  return the_sequence;
}

/// Adds elementwise operations to a graph, written as they read.
struct Formula {
  ir::Graph& graph;
  const ir::Where& where;

  ir::Value operator()(ir::Op op, std::initializer_list<ir::Operand> operands) const {
    return ir::elementwise(graph, op, std::span(operands.begin(), operands.size()), where);
  }
  static ir::Operand number(double value) { return ir::Literal{value}; }
  static ir::Operand number(std::int64_t value) { return ir::Literal{value}; }
};

struct Source {
  ir::Value key, counter;
  const ir::Shape& shape;
};

/// The upper `bits` of 32 random bits as a whole number in a float dtype, which holds it exactly.
ir::Value whole_bits(const Formula& f, const Source& source, std::int64_t block, int bits, DType dtype) {
  const ir::Value counter =
      block == 0 ? source.counter : f(ir::Op::add, {source.counter, Formula::number(block)});
  const ir::Value word = ir::random_bits(f.graph, source.key, counter, source.shape, f.where);
  const ir::Value shifted = f(ir::Op::right_shift, {word, Formula::number(std::int64_t{32 - bits})});
  const std::int64_t mask = (std::int64_t{1} << bits) - 1;  // the shift has repeated the sign
  return ir::cast(f.graph, f(ir::Op::bitwise_and, {shifted, Formula::number(mask)}), dtype, f.where);
}

/// Uniform over [0, 1): as many bits as the dtype's significand has, so that nothing is rounded up to 1.
ir::Value uniform(const Formula& f, const Source& source, std::int64_t first_block, DType dtype) {
  if (dtype == DType::f64) {
    const ir::Value high = whole_bits(f, source, first_block, 27, dtype);
    const ir::Value low = whole_bits(f, source, first_block + 1, 26, dtype);
    const ir::Value both = f(ir::Op::add, {f(ir::Op::mul, {high, Formula::number(0x1p26)}), low});
    return f(ir::Op::mul, {both, Formula::number(0x1p-53)});
  }
  const int bits = dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  const ir::Value whole = whole_bits(f, source, first_block, bits, dtype);
  return f(ir::Op::mul, {whole, Formula::number(bits == 24 ? 0x1p-24 : bits == 11 ? 0x1p-11 : 0x1p-8)});
}

/// Box and Muller's: sqrt(-2 log(1 - u)) cos(2 pi v).
ir::Value normal(const Formula& f, const Source& source, DType dtype) {
  const DType wide = promote(dtype, DType::f32);
  const ir::Value u = uniform(f, source, 0, wide), v = uniform(f, source, blocks_per_draw / 2, wide);
  const ir::Value logarithm = f(ir::Op::log, {f(ir::Op::sub, {Formula::number(1.0), u})});
  const ir::Value radius = f(ir::Op::sqrt, {f(ir::Op::mul, {logarithm, Formula::number(-2.0)})});
  const ir::Value angle = f(ir::Op::mul, {v, Formula::number(2 * std::numbers::pi)});
  return ir::cast(f.graph, f(ir::Op::mul, {radius, f(ir::Op::cos, {angle})}), dtype, f.where);
}

}  // namespace

std::pair<std::int64_t, std::int64_t> next_draw() {
  Sequence& s = sequence();
  const std::lock_guard lock(s.mutex);
  const std::int64_t counter = s.counter;
  s.counter += blocks_per_draw;
  return {s.seed, counter};
}

ir::Value add_random(ir::Graph& g, Distribution distribution, ir::Value key, ir::Value counter,
                     const ir::Shape& shape, DType dtype, const ir::Where& where) {
  if (!is_float(dtype))
    fail<DTypeError>("random numbers come in a float dtype, not in {}; convert them with astype",
                     name(dtype));
  const Formula f{g, where};
  const Source source{key, counter, shape};
  return distribution == Distribution::uniform ? uniform(f, source, 0, dtype) : normal(f, source, dtype);
}

}  // namespace frontend

namespace {

Tensor draw(frontend::Distribution distribution, const Shape& shape, DType dtype, Where where) {
  const char* function = distribution == frontend::Distribution::uniform ? "rand" : "randn";
  where = frontend::effective_line(where);
  frontend::with_location(where, [&] {
    if (!is_float(dtype))
      fail<DTypeError>("{}: gives a float dtype, not {}; convert the result with astype", function,
                       name(dtype));
  });
  const ir::Shape lengths = frontend::checked_shape(function, shape, dtype, where);
  if (frontend::Capture* capture = frontend::current_capture())
    return frontend::with_location(where, [&] {
      const auto [key, counter] = capture->draw(where);
      return capture->tensor(
          frontend::add_random(capture->graph(), distribution, key, counter, lengths, dtype, where));
    });
  const auto [key, counter] = frontend::next_draw();
  const Operand operands[] = {{frontend::scalar_tensor({key, where}), where},
                              {frontend::scalar_tensor({counter, where}), where}};
  return frontend::dispatch(operands, [&](ir::Graph& g, std::span<const ir::Operand> v, const ir::Where& w) {
    return frontend::add_random(g, distribution, std::get<ir::Value>(v[0]), std::get<ir::Value>(v[1]),
                                lengths, dtype, w);
  });
}

}  // namespace

Tensor rand(const Shape& shape, DType dtype, Where where) {
  return draw(frontend::Distribution::uniform, shape, dtype, where);
}

Tensor randn(const Shape& shape, DType dtype, Where where) {
  return draw(frontend::Distribution::normal, shape, dtype, where);
}

void manual_seed(std::int64_t seed) {
  frontend::Sequence& s = frontend::sequence();
  const std::lock_guard lock(s.mutex);
  s.seed = seed;
  s.counter = 0;
}

}  // namespace sinter
