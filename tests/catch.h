// Catch2 for the tests: one spelling for version 2 (Debian 12) and version 3.
//
// Tests include this instead of a Catch2 header and may use whatever both versions have: the macros,
// GENERATE, the matchers of Catch::Matchers, and Approx. Where the versions differ, version 3's spelling is
// offered for both. SINTER_SKIP(reason) ends the test case as skipped; catch_main.cpp counts and reports the
// skips.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& text, CaseSensitive::Choice c = CaseSensitive::Yes) {
  return Contains(text, c);
}
}  // namespace Catch::Matchers
#endif

#include <string>

namespace sinter::testing {

/// Records that the running test case is skipped, prints why, and leaves the test case.
[[noreturn]] void skip(const std::string& reason);

/// How many test cases have been skipped so far.
int skipped_test_cases();

}  // namespace sinter::testing

/// Ends the test case as skipped when the machine lacks what it needs; `reason` says what that is.
#define SINTER_SKIP(reason) ::sinter::testing::skip(reason)
