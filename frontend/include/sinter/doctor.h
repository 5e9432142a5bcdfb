// What sinter found on this machine, and what is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

enum class Health : std::uint8_t {
  good,
  absent,  // sinter works without it, with less
  bad,     // something is there and cannot be used
};

struct Finding {
  std::string subject;  // "C++ compiler", "OpenBLAS", ...
  std::string value;    // what was found, or why nothing was
  Health health = Health::good;
  std::string hint = {};  // what to do, where there is something to do
};

/// Looks at everything sinter depends on. Changes nothing, except that the cache directory is made.
std::vector<Finding> examine_machine();

/// The findings as text, one a line with its hint below.
std::string doctor_report();

}  // namespace sinter
