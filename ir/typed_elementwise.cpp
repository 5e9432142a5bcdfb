#include "ir/typed_elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/elementwise_loops.h"
#include "ir/typed_blocks.h"

namespace sinter::ir {
namespace {

constexpr std::int64_t block = 512;

/// Brings operands to C block by block, and stores what `compute` makes of them.
template <class C, class Compute>
void in_blocks(std::span<const ElementwiseOperand> operands, DType result, std::byte* out, std::int64_t n,
               Compute compute) {
  std::array<std::array<C, block>, 3> buffers{};
  std::array<C, block> y;
  std::array<const C*, 3> x{buffers[0].data(), buffers[0].data(), buffers[0].data()};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    x[k] = buffers[k].data();
    if (!operands[k].scalar) continue;
    load_block(operands[k].dtype, operands[k].data, 0, 1, buffers[k].data());
    buffers[k].fill(C(buffers[k][0]));
  }
  for (std::int64_t first = 0; first < n; first += block) {
    const auto length = static_cast<std::size_t>(std::min(block, n - first));
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (!operands[k].scalar)
        load_block(operands[k].dtype, operands[k].data, first, length, buffers[k].data());
    compute(x[0], x[1], x[2], y.data(), length);
    store_block(result, y.data(), length, out, first);
  }
}

template <class To, class From>
To convert(From value) {
  constexpr bool from_float = std::is_floating_point_v<From>;
  if constexpr (std::is_same_v<To, bool>)
    return value != 0;  // also for NaN
  else if constexpr (std::is_integral_v<To> && from_float)
    return static_cast<To>(saturate(dtype_of<To>, value));
  else if constexpr (std::is_integral_v<To> || std::is_floating_point_v<To>)
    return static_cast<To>(value);
  else if constexpr (std::is_same_v<From, float> || sizeof(From) == 1)
    return To(static_cast<float>(value));
  else {  // a way by float would round twice
    To result;
    result.bits = static_cast<std::uint16_t>(encode_float(dtype_of<To>, static_cast<long double>(value)));
    return result;
  }
}

}  // namespace

void evaluate_elementwise(Op op, std::span<const ElementwiseOperand> operands, DType result, std::byte* out,
                          std::int64_t n) {
  const ElementwiseLoops& loops = elementwise_loops(op);
  const DType t = operands.back().dtype;  // the first may be the condition of a select
  if (!is_float(t))
    in_blocks<std::int64_t>(operands, result, out, n, [&](auto* a, auto* b, auto* c, auto* y, std::size_t k) {
      loops.whole(a, b, c, y, k, t);
    });
  else if (t == DType::f64 || !elementwise_info(op).is(Flag::exact))
    in_blocks<double>(operands, result, out, n, loops.f64);
  else
    in_blocks<float>(operands, result, out, n, loops.f32);
}

void evaluate_cast(DType from, const std::byte* in, DType to, std::byte* out, std::int64_t n) {
  visit_dtype(from, [&](auto from_type) {
    using From = decltype(from_type);
    visit_dtype(to, [&](auto to_type) {
      using To = decltype(to_type);
      const From* x = reinterpret_cast<const From*>(in);
      To* y = reinterpret_cast<To*>(out);
      for (std::int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<From, float16_t> || std::is_same_v<From, bfloat16_t>)
          y[i] = convert<To>(static_cast<float>(x[i]));
        else
          y[i] = convert<To>(x[i]);
      }
    });
  });
}

}  // namespace sinter::ir
