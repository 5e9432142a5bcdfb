// The device's forms of functions, at every f32 number, against the same functions in f64, or against the
// machine's own where every bit counts. The host's stand-ins for what GPUs have of their own are exact, so
// only a GPU can tell.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "codegen/prelude.h"
#include "runtime/buffer.h"
#include "runtime/kernel_cache.h"
#include "runtime/steps.h"
#include "tests/support/gpu.h"

using namespace sinter;
using namespace sinter::runtime;

namespace {

/// Runs a kernel that takes one pointer, to two 64-bit numbers that begin as 0, and returns these.
std::array<std::uint64_t, 2> run_check(Device& gpu, const std::string& text, std::int64_t blocks) {
  const std::string source = codegen::prelude(text, codegen::Backend::cuda) + text;
  const auto kernel =
      kernel_cache().get_or_compile({"check", source, source, "check", gpu.target(), gpu.id().ordinal});
  std::array<std::uint64_t, 2> found{};
  const auto buffer = Buffer::allocate(sizeof found, gpu);
  gpu.copy_from_host(buffer->data(), found.data(), sizeof found);
  std::byte* const address = buffer->data();
  std::byte params[8];
  std::memcpy(params, &address, sizeof address);
  KernelLaunch launch;
  launch.name = "check";
  launch.units = blocks;
  launch.block_threads = 256;
  gpu.run_kernel(launch, *kernel, params);
  gpu.copy_to_host(found.data(), buffer->data(), sizeof found);
  return found;
}

struct Form {
  const char* name;
  const char* exact;  // of f64 e = x
  bool flushes = false, from_one = false, bf16_alone = false;
};

constexpr Form forms[] = {
    {"narrow_exp", "::exp(e)", true}, {"narrow_exp2", "::exp2(e)", true},
    {"narrow_log", "::log(e)"},       {"narrow_log2", "::log2(e)"},
    {"narrow_log10", "::log10(e)"},   {"narrow_log1p", "::log1p(e)"},
    {"narrow_sqrt", "::sqrt(e)"},     {"narrow_rsqrt", "1.0 / ::sqrt(e)"},
    {"narrow_reciprocal", "1.0 / e"}, {"bounded_reciprocal", "1.0 / e", false, true},
    {"narrow_tanh", "::tanh(e)"},     {"narrow_erf", "::erf(e)"},
    {"narrow_erfc", "::erfc(e)"},     {"coarse_erfc", "::erfc(e)", false, false, true},
};

/// Leaves the worst error and its operand, and the number of results of the wrong class.
constexpr const char* unary_check = R"(
namespace sinter {{
struct Params {{ unsigned long long* found; }};
extern "C" __global__ void check(const Params p) {{
  const bool half = {half};
  const int digits = half ? 10 : 7, least = half ? -14 : -126;
  const f64 greatest = half ? 65504.0 : 0x1.fep127;
  float worst = 0.0f, at = 0.0f;
  unsigned long long wrong = 0;
  for (unsigned i = 0; i < 256; ++i) {{
    const f32 x = f32_of_bits((blockIdx.x * 256u + threadIdx.x) * 256u + i);
    if ({from_one} && x < 1.0f) continue;
    const f64 e = x, exact = {exact};
    const f32 result = {name}(x);
    if ({flushes} && ::fabs(exact) < 0x1p-126 && result == 0.0f) continue;
    const f64 stored = {rounded};
    if (exact != exact || stored != stored || ::isinf(exact) || exact == 0.0) {{
      wrong += exact != exact ? stored == stored : stored != exact || ::signbit(stored) != ::signbit(exact);
      continue;
    }}
    const f64 bounded = ::fmin(::fabs(exact), greatest);
    const f64 unit = ::scalbn(1.0, (bounded == 0.0 ? least : ::max(::ilogb(bounded), least)) - digits);
    if (::isinf(stored) && ::fabs(exact) >= greatest + unit) continue;
    const f64 finite = ::isinf(stored) ? ::copysign(greatest + unit, stored) : stored;
    const float error = (float)(::fabs(finite - exact) / unit);
    if (error > worst) {{ worst = error; at = x; }}
  }}
  atomicMax(p.found, (unsigned long long)__float_as_uint(worst) << 32 | __float_as_uint(at));
  atomicAdd(p.found + 1, wrong);
}}
}}
)";

/// Counts, for every f32 b, what is not as the machine's own rounded division and square root have it: the
/// root and the reciprocal of b, quotients by b of operands of all sizes, of such as give subnormal results,
/// and of both zeros. Leaves also the most units in the last place by which device_rsqrt is off.
constexpr const char* rounded_check = R"(
namespace sinter {
struct Params { unsigned long long* found; };
__device__ bool same(f32 a, f32 b) { return bits_of(a) == bits_of(b) || (a != a && b != b); }
extern "C" __global__ void check(const Params p) {
  unsigned long long wrong = 0, most = 0;
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned bits = (blockIdx.x * 256u + threadIdx.x) * 256u + i;
    const f32 b = f32_of_bits(bits);
    wrong += !same(sqrt(b), __fsqrt_rn(b));
    wrong += !same((f32)wide_reciprocal(b), __frcp_rn(b));
    const exact_divisor by = exact_divisor_of(b);
    unsigned drawn = bits;
    for (int k = 0; k < 8; ++k) {
      drawn = (drawn ^ drawn >> 15) * 0x2c1b3c6du + 0x9e3779b9u;
      const unsigned small = (bits & 0x7f800000u) - 0x3f000000u + (drawn & 0x3ffffffu);
      const unsigned of[] = {drawn, drawn, drawn, drawn & 0x807fffffu, small, small, 0u, 0x80000000u};
      const f32 a = f32_of_bits(of[k]);
      wrong += !same(wide_div(a, by), __fdiv_rn(a, b));
      if (by.usable && divides_exactly(a)) wrong += !same(exact_div(a, by), __fdiv_rn(a, b));
    }
    if (b > 0 && b < infinity()) {
      const int off = bits_of(device_rsqrt(b)) - bits_of((f32)(1.0 / ::sqrt((f64)b)));
      most = ::max(most, (unsigned long long)(off < 0 ? -off : off));
    } else {
      wrong += !same(device_rsqrt(b), 1.0f / __fsqrt_rn(b));
    }
  }
  atomicMax(p.found, most);
  atomicAdd(p.found + 1, wrong);
}
}
)";

}  // namespace

TEST_CASE("division by many and square roots are rounded right for every f32 number", "[exhaustive]") {
  const auto [off, wrong] = run_check(sinter::testing::need_gpu(), rounded_check, 1 << 16);
  CHECK(wrong == 0);
  CHECK(off <= 2);
}

TEST_CASE("the device's forms for 16 bits are within 0.52 units for every f32 number", "[exhaustive]") {
  Device& gpu = sinter::testing::need_gpu();
  for (const Form& form : forms)
    for (const bool half : {true, false}) {
      if (half && form.bf16_alone) continue;
      const std::string text = fmt::format(
          unary_check, fmt::arg("half", half), fmt::arg("from_one", form.from_one),
          fmt::arg("exact", form.exact), fmt::arg("name", form.name), fmt::arg("flushes", form.flushes),
          fmt::arg("rounded", half ? "to_f32(to_f16(result))" : "to_f32(to_bf16(result))"));
      const auto [worst, wrong] = run_check(gpu, text, 1 << 16);
      const float error = std::bit_cast<float>(static_cast<std::uint32_t>(worst >> 32));
      const float at = std::bit_cast<float>(static_cast<std::uint32_t>(worst));
      INFO(fmt::format("{} in {}: {:.4f} units at {:a}", form.name, half ? "f16" : "bf16", error, at));
      CAPTURE(wrong);
      CHECK(error <= 0.52f);
      CHECK(wrong == 0);
    }
}
