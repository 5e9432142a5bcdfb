// The main function of every test executable.
//
// Beyond Catch2's own it keeps the tests away from the user's kernel cache, counts skipped test cases, and
// writes the test cases as a CTest file (--write-ctest FILE), which is how each becomes a test of its own.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "tests/catch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/places.h"

namespace sinter::testing {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_skipped = 4;  // what version 3 returns when every test case was skipped

struct Tally {
  int ran = 0;
  bool failed = false;
};

Tally& tally() {
  static Tally instance;
  return instance;
}

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class CountTestCases : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++tally().ran;
    tally().failed |= stats.totals.assertions.failed > 0;
  }
};

CATCH_REGISTER_LISTENER(CountTestCases)

/// A test case as CTest needs it.
struct TestCase {
  std::string name;
  std::vector<std::string> tags;
};

std::vector<TestCase> all_test_cases(Catch::Session& session) {
  std::vector<TestCase> result;
  for (const auto& entry : Catch::getAllTestCasesSorted(session.config())) {
    const Catch::TestCaseInfo& info = entry.getTestCaseInfo();
    TestCase test{info.name, {}};
    for (const auto& tag : info.tags) {
#if __has_include(<catch2/catch_all.hpp>)
      test.tags.emplace_back(tag.original.begin(), tag.original.end());
#else
      test.tags.push_back(tag);
#endif
    }
    result.push_back(std::move(test));
  }
  return result;
}

/// The test specification that selects the test case of this name and no other.
std::string exact_spec(const std::string& name) {
  std::string spec = "\"";
  for (char c : name) {
    if (std::string_view("\\,[]\"*").find(c) != std::string_view::npos) spec += '\\';
    spec += c;
  }
  return spec + '"';
}

std::string bracket(const std::string& text) {
  return "[==[" + text + "]==]";
}

bool has(const TestCase& test, std::string_view tag) {
  return std::find(test.tags.begin(), test.tags.end(), tag) != test.tags.end();
}

/// Tags that mean something to CTest: [slow] and [exhaustive] become labels and get more time, [serial] keeps
/// other tests away while it runs.
int write_ctest(Catch::Session& session, const std::string& executable, const std::string& layer,
                const std::string& file) {
  std::ofstream out(file);
  for (const TestCase& test : all_test_cases(session)) {
    const bool exhaustive = has(test, "exhaustive"), slow = has(test, "slow");
    const std::string name = bracket(layer + ": " + test.name);
    out << "add_test(" << name << " " << bracket(executable) << " " << bracket(exact_spec(test.name)) << ")\n"
        << "set_tests_properties(" << name << " PROPERTIES SKIP_RETURN_CODE " << exit_skipped << " TIMEOUT "
        << (exhaustive ? 7200
            : slow     ? 600
                       : 120)
        << " LABELS \"" << layer << (slow ? ";slow" : "") << (exhaustive ? ";exhaustive" : "") << "\""
        << (has(test, "serial") ? " RUN_SERIAL ON" : "") << ")\n";
  }
  out.close();
  if (out) return EXIT_SUCCESS;
  std::cerr << "cannot write " << file << '\n';
  return exit_failed;
}

}  // namespace

}  // namespace sinter::testing

int main(int argc, char** argv) {
  using namespace sinter::testing;
  setenv("SINTER_CACHE_DIR", built_file(SINTER_TEST_CACHE_DIR).c_str(), 0);
  setenv("SINTER_DEBUG_VERIFY", "1", 0);
  Catch::Session session;
  if (argc == 4 && std::string_view(argv[1]) == "--write-ctest")
    return write_ctest(session, argv[0], argv[2], argv[3]);

  const int result = session.run(argc, argv);
  const Tally& counts = tally();
  const int skipped = skipped_test_cases();
  if (skipped > 0) std::cout << skipped << " of " << counts.ran << " test cases skipped\n";
  // Version 2 returns the number of failures, and success for a specification that matches nothing.
  if (counts.failed || counts.ran == 0) return exit_failed;
  if (skipped == counts.ran) return exit_skipped;
  return result == EXIT_SUCCESS ? EXIT_SUCCESS : exit_failed;
}
