#include "ir/elementwise_loops.h"

#include <array>

#include "ir/base/check.h"
#include "ir/reference_math.h"

namespace sinter::ir {
namespace {

// The columns are expressions over a, b, c (and t); most use only some of them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-parameter"
constexpr std::array loops{
#define SINTER_ELEMENTWISE(id, api, arity, rule, emit, float_ref, whole_ref, flags, flops, derivative, doc) \
  ElementwiseLoops{[](const float* x, const float* y, const float* z, float* out, std::size_t n) {          \
                     auto f = [](float a, float b, float c) { return static_cast<float>(float_ref); };      \
                     for (std::size_t i = 0; i < n; ++i) out[i] = f(x[i], y[i], z[i]);                      \
                   },                                                                                       \
                   [](const double* x, const double* y, const double* z, double* out, std::size_t n) {      \
                     auto f = [](double a, double b, double c) { return static_cast<double>(float_ref); };  \
                     for (std::size_t i = 0; i < n; ++i) out[i] = f(x[i], y[i], z[i]);                      \
                   },                                                                                       \
                   [](const std::int64_t* x, const std::int64_t* y, const std::int64_t* z,                  \
                      std::int64_t* out, std::size_t n, DType t) {                                          \
                     auto f = [](std::int64_t a, std::int64_t b, std::int64_t c, DType t) {                 \
                       return static_cast<std::int64_t>(whole_ref);                                         \
                     };                                                                                     \
                     for (std::size_t i = 0; i < n; ++i) out[i] = f(x[i], y[i], z[i], t);                   \
                   }},
#include "ir/ops.def"
};
#pragma GCC diagnostic pop

}  // namespace

const ElementwiseLoops& elementwise_loops(Op op) {
  SINTER_ASSERT(is_elementwise(op), "{} is not elementwise", name(op));
  return loops[static_cast<std::size_t>(op)];
}

}  // namespace sinter::ir
