#include "samples/suite/by_hand.h"

namespace suite {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

typedef float Floats __attribute__((vector_size(vector_bytes)));
typedef int Ints __attribute__((vector_size(vector_bytes)));
constexpr std::size_t lanes = vector_bytes / sizeof(float);

Floats load(const float* from) {
  Floats x;
  __builtin_memcpy(&x, from, sizeof(x));
  return x;
}
void store(float* to, Floats x) {
  __builtin_memcpy(to, &x, sizeof(x));
}

/// tanh by (e^2|u| - 1) / 2 = h and h / (h + 1): the bounds, the polynomial and the sign as in
/// codegen/prelude/hyperbolic.inc. The compiler contracts products and sums.
Floats tanh(Floats u) {
  const Ints sign = (Ints)u & (int)0x80000000;
  const Floats magnitude = (Floats)((Ints)u & 0x7fffffff);
  const Floats bounded = magnitude > 10.0f ? Floats{} + 10.0f : magnitude;
  const Floats x = bounded + bounded;
  const Floats biased = x * 0x1.715476p0f + 0x1.8000fcp23f;
  const Floats n = biased - 0x1.8000fcp23f;
  const Floats r = n * 0x1.05c610p-29f + (n * -0x1.62e430p-1f + x);
  Floats p = 0x1.6b97acp-10f * r + 0x1.122538p-7f;
  p = p * r + 0x1.5556f6p-5f;
  p = p * r + 0x1.5554b4p-3f;
  p = p * r + 0x1.fffffep-2f;
  p = p * (r * r) + r;
  const Floats half_power = (Floats)((Ints)biased << 23);
  const Floats h = half_power * p + (half_power - 0.5f);
  return (Floats)((Ints)(h / (h + 1.0f)) | sign);
}

Floats gelu(Floats x) {
  const Floats u = 0.797884583f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + tanh(u));
}

}  // namespace

void gelu_by_hand(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t begin,
                  std::size_t end) {
  const float* const x = inputs.data()[0];
  float* const y = outputs.data()[0];
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes) store(y + i, gelu(load(x + i)));
  if (i == end) return;
  Floats rest{};
  for (std::size_t k = 0; k < end - i; ++k) rest[k] = x[i + k];
  rest = gelu(rest);
  for (std::size_t k = 0; k < end - i; ++k) y[i + k] = rest[k];
}

}  // namespace suite
