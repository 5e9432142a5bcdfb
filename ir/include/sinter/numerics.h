// The numeric mode of a program; docs/numerics.md says what each promises.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter {

enum class Numerics : std::uint8_t {
  strict,    // bit for bit what eager gives
  standard,  // 16-bit chains stay in f32 between written casts; functions within a few ulp
  fast,      // the device's approximations, reassociation, every rewrite rule
};

constexpr std::string_view name(Numerics n) {
  return n == Numerics::strict ? "strict" : n == Numerics::standard ? "standard" : "fast";
}

constexpr std::optional<Numerics> numerics_from_name(std::string_view text) {
  for (Numerics n : {Numerics::strict, Numerics::standard, Numerics::fast})
    if (name(n) == text) return n;
  return std::nullopt;
}

}  // namespace sinter
