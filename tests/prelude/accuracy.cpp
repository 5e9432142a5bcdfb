#include "tests/prelude/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "tests/prelude/host_prelude.h"

namespace sinter::testing {
namespace {

constexpr std::size_t block = 4096;

/// The distance of the f32 numbers around x, of the subnormals below 2^-126.
double last_place(double x) {
  return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23);
}

/// Runs `part(thread, threads)` on every processor and merges what the parts return.
template <class F>
Accuracy in_parallel(F&& part) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Accuracy> results(threads);
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) workers.emplace_back([&, t] { results[t] = part(t, threads); });
  for (std::thread& worker : workers) worker.join();
  for (unsigned t = 1; t < threads; ++t) results[0].merge(results[t]);
  return results[0];
}

}  // namespace

void Accuracy::add(float result, double exact, float a, float b) {
  // A result beyond the greatest f32 counts as in range by less than a place, so that either side may round.
  const float rounded = static_cast<float>(exact);
  bool right_class = true;
  if (std::isnan(exact) || std::isnan(result)) {
    right_class = std::isnan(exact) && std::isnan(result);
  } else if (exact == 0 || std::isinf(exact)) {
    right_class = std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(rounded);
  } else if (std::signbit(result) != std::signbit(exact)) {
    right_class = false;
  } else {
    const double finite = std::isinf(result) ? std::copysign(0x1p128, result) : result;
    const double error =
        std::abs(finite - exact) / last_place(std::clamp(exact, -0x1.fffffep127, 0x1.fffffep127));
    if (std::isinf(result) && std::isinf(rounded)) return;
    if (error > worst) {
      worst = error;
      worst_at[0] = a;
      worst_at[1] = b;
    }
  }
  if (right_class) return;
  ++wrong_class;
  wrong_at[0] = a;
  wrong_at[1] = b;
}

void Accuracy::add_stored(double stored, double exact, DType t, float a) {
  const int digits = t == f16 ? 10 : 7, least = t == f16 ? -14 : -126;
  const double greatest = t == f16 ? 65504 : 0x1.fep127;
  if (std::isnan(exact) || std::isnan(stored) || std::isinf(exact) || exact == 0) {
    const bool same = std::isnan(exact) ? std::isnan(stored)
                                        : stored == exact && std::signbit(stored) == std::signbit(exact);
    if (same) return;
    ++wrong_class;
    wrong_at[0] = a;
    return;
  }
  const double bounded = std::min(std::abs(exact), greatest);
  const double unit = std::ldexp(1.0, std::max(bounded == 0 ? least : std::ilogb(bounded), least) - digits);
  // Infinity is what comes after the greatest number.
  const double finite = std::isinf(stored) ? std::copysign(greatest + unit, stored) : stored;
  if (std::isinf(stored) && std::abs(exact) >= greatest + unit) return;
  const double error = std::abs(finite - exact) / unit;
  if (error <= worst) return;
  worst = error;
  worst_at[0] = a;
}

void Accuracy::merge(const Accuracy& other) {
  if (other.worst > worst) {
    worst = other.worst;
    std::copy_n(other.worst_at, 2, worst_at);
  }
  if (other.wrong_class > 0) std::copy_n(other.wrong_at, 2, wrong_at);
  wrong_class += other.wrong_class;
}

std::string Accuracy::describe() const {
  std::string text = fmt::format("{:.3f} ulp at {:a}, {:a}", worst, worst_at[0], worst_at[1]);
  if (wrong_class > 0)
    text += fmt::format("; {} results of the wrong class, as at {:a}, {:a}", wrong_class, wrong_at[0],
                        wrong_at[1]);
  return text;
}

Accuracy measure(const UnaryFunction& function, std::uint64_t stride) {
  return in_parallel([&](unsigned thread, unsigned threads) {
    Accuracy accuracy;
    std::vector<float> a(block), out(block);
    constexpr std::uint64_t end = std::uint64_t{1} << 32;
    for (std::uint64_t start = thread * stride * block; start < end; start += threads * stride * block) {
      std::size_t n = 0;
      for (std::uint64_t bits = start; bits < end && n < block; bits += stride)
        a[n++] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      function.run(a.data(), out.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        if (!(std::abs(a[i]) > function.greatest)) accuracy.add(out[i], function.exact(a[i]), a[i], 0);
    }
    return accuracy;
  });
}

Accuracy measure_stored(const NarrowFunction& function, DType stored, std::uint64_t stride) {
  return in_parallel([&](unsigned thread, unsigned threads) {
    Accuracy accuracy;
    std::vector<float> a(block), out(block);
    constexpr std::uint64_t end = std::uint64_t{1} << 32;
    for (std::uint64_t start = thread * stride * block; start < end; start += threads * stride * block) {
      std::size_t n = 0;
      for (std::uint64_t bits = start; bits < end && n < block; bits += stride)
        a[n++] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      function.run(a.data(), out.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        if (a[i] < function.least) continue;
        const double exact = function.exact(a[i]);
        if (function.flushes && std::abs(exact) < 0x1p-126 && out[i] == 0) continue;
        const double rounded =
            stored == f16 ? kernel::to_f32(kernel::to_f16(out[i])) : kernel::to_f32(kernel::to_bf16(out[i]));
        accuracy.add_stored(rounded, exact, stored, a[i]);
      }
    }
    return accuracy;
  });
}

Accuracy measure(const BinaryFunction& function, std::uint64_t count) {
  return in_parallel([&](unsigned thread, unsigned threads) {
    Accuracy accuracy;
    std::mt19937 random(thread);
    std::uniform_real_distribution<float> moderate(-40, 40), positive(0, 4);
    std::vector<float> a(block), b(block), out(block);
    for (std::uint64_t done = 0; done < 2 * count / threads; done += block) {
      for (std::size_t i = 0; i < block; ++i) {
        const bool bits = i % 2 == 0;
        a[i] = bits ? std::bit_cast<float>(static_cast<std::uint32_t>(random())) : positive(random);
        b[i] = bits ? std::bit_cast<float>(static_cast<std::uint32_t>(random())) : moderate(random);
      }
      function.run(a.data(), b.data(), out.data(), block);
      for (std::size_t i = 0; i < block; ++i) accuracy.add(out[i], function.exact(a[i], b[i]), a[i], b[i]);
    }
    return accuracy;
  });
}

}  // namespace sinter::testing
