#include "tests/support/compare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/text_form.h"

namespace sinter::testing {
namespace {

using ir::Array;
using ir::Exact;
using ir::Scalar;

/// Stored fraction bits and least exponent of a normal number.
struct Format {
  int fraction, least_exponent;
};

Format format_of(DType t) {
  if (t == f64) return {52, -1022};
  if (t == f32) return {23, -126};
  return t == f16 ? Format{10, -14} : Format{7, -126};
}

std::string place(const std::vector<std::int64_t>& shape, std::int64_t index) {
  std::vector<std::int64_t> position(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis])
    position[axis] = index % shape[axis];
  return fmt::format("[{}]", fmt::join(position, ", "));
}

std::string shape_mismatch(const Array& got, DType dtype, const std::vector<std::int64_t>& shape) {
  if (got.dtype == dtype && got.shape == shape) return "";
  return fmt::format("got {}[{}], expected {}[{}]", name(got.dtype), fmt::join(got.shape, ", "), name(dtype),
                     fmt::join(shape, ", "));
}

std::string describe(const Exact& expected, std::int64_t i, const Scalar& got, const std::string& allowed) {
  const Scalar rounded = expected.at(i);
  std::string text = fmt::format("at {}: got {}, expected {}", place(expected.shape, i),
                                 ir::spell_number(got), ir::spell_number(rounded));
  if (is_float(got.dtype) && std::isfinite(got.real())) {
    const long double exact = expected.reals[static_cast<std::size_t>(i)];
    text += fmt::format(" ({}), off by {:.3g} ulp", static_cast<double>(exact),
                        static_cast<double>(std::fabs(got.real() - exact) / ulp(got.dtype, exact)));
  }
  return text + allowed;
}

/// `fits(i, got, exact)` judges two finite floats; `skip(i)` leaves an element out.
template <class Skip, class Fits, class WholeFits, class Allowed>
std::string first_mismatch(const Array& got, const Exact& expected, bool signed_zeros, Skip skip, Fits fits,
                           WholeFits whole_fits, Allowed allowed) {
  if (std::string text = shape_mismatch(got, expected.dtype, expected.shape); !text.empty()) return text;
  std::string first;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    if (skip(i)) continue;
    const Scalar g = got.at(i), rounded = expected.at(i);
    bool good = g == rounded;
    if (!good && is_float(g.dtype)) {
      const long double exact = expected.reals[static_cast<std::size_t>(i)];
      const bool nan = std::isnan(g.real()), infinite = std::isinf(g.real()) || std::isinf(rounded.real());
      if (nan || std::isnan(exact))
        good = nan && std::isnan(exact);
      else if (g.real() == rounded.real())
        good = !signed_zeros || std::signbit(g.real()) == std::signbit(exact);
      else
        good = (!infinite || std::isfinite(exact)) && !std::isinf(g.real()) && fits(i, g.real(), exact);
    } else if (!good) {
      good = whole_fits(i, g.whole(), rounded.whole());
    }
    if (!good && ++count == 1) first = describe(expected, i, g, allowed(i));
  }
  return count > 1 ? fmt::format("{}; {} of {} elements are off", first, count, got.elements()) : first;
}

}  // namespace

long double ulp(DType t, long double value) {
  const Format format = format_of(t);
  const int exponent = value == 0 || !std::isfinite(value) ? format.least_exponent : std::ilogb(value);
  return std::ldexp(1.0L, std::max(exponent, format.least_exponent) - format.fraction);
}

std::string mismatch(const Array& got, const Exact& expected, const Tolerance& tolerance) {
  return first_mismatch(
      got, expected, tolerance.signed_zeros, [](std::int64_t) { return false; },
      [&](std::int64_t, long double g, long double e) {
        return std::fabs(g - e) <= tolerance.ulps * ulp(got.dtype, e) + tolerance.absolute;
      },
      [](std::int64_t, std::int64_t, std::int64_t) { return false; },
      [&](std::int64_t) {
        return fmt::format(", allowed {} ulp + {:.3g}", tolerance.ulps, tolerance.absolute);
      });
}

std::string mismatch_within(const Array& got, const Exact& expected, const std::vector<double>& error) {
  auto bound = [&](std::int64_t i) { return error[static_cast<std::size_t>(i)]; };
  return first_mismatch(
      got, expected, false, [&](std::int64_t i) { return std::isinf(bound(i)); },
      [&](std::int64_t i, long double g, long double e) {
        return std::fabs(g - e) <= bound(i) + ulp(got.dtype, e);
      },
      [&](std::int64_t i, std::int64_t g, std::int64_t e) {
        return std::fabs(static_cast<double>(g) - static_cast<double>(e)) <= bound(i);
      },
      [&](std::int64_t i) { return fmt::format(", allowed {:.3g}", bound(i)); });
}

std::string mismatch_in_bits(const Array& got, const Array& expected) {
  if (std::string text = shape_mismatch(got, expected.dtype, expected.shape); !text.empty()) return text;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const Scalar g = got.at(i), e = expected.at(i);
    if (g == e || (is_float(g.dtype) && std::isnan(g.real()) && std::isnan(e.real()))) continue;
    return fmt::format("at {}: got {} ({:#x}), expected {} ({:#x})", place(got.shape, i), ir::spell_number(g),
                       g.bits, ir::spell_number(e), e.bits);
  }
  return "";
}

double reduction_bound(DType t, std::int64_t n, double sum_of_magnitudes, double c) {
  const double eps = static_cast<double>(ulp(t, 1.0L));
  return c * eps * std::max(1.0, std::log2(static_cast<double>(n))) * sum_of_magnitudes;
}

}  // namespace sinter::testing
