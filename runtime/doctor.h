// What was found on this machine and what is missing, for `sinter doctor` and for reports of faults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

enum class Health : std::uint8_t {
  good,
  absent,  // sinter works without it, with less: the hint says what is lost and how to get it
  bad,     // something is there and cannot be used
};

std::string_view name(Health health);

struct Finding {
  std::string subject;  // "C++ compiler", "OpenBLAS", ...
  std::string value;    // what was found, or why nothing was
  Health health = Health::good;
  std::string hint{};  // what to do, where there is something to do
};

/// Looks at everything sinter depends on. Nothing is changed, except that the cache directory is made.
std::vector<Finding> examine();

/// The findings as text, one a line and the hints below.
std::string doctor_report(const std::vector<Finding>& findings);

}  // namespace sinter::runtime
