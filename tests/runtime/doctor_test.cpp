#include "runtime/doctor.h"

#include <algorithm>
#include <set>

#include "tests/catch.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the doctor says something of everything sinter depends on") {
  const auto findings = examine();
  std::set<std::string> subjects;
  for (const Finding& finding : findings) {
    subjects.insert(finding.subject);
    CHECK_FALSE(finding.value.empty());
    CHECK(finding.hint.empty() == (finding.health == Health::good));
  }
  for (const char* subject :
       {"sinter", "C++ compiler", "OpenBLAS", "oneTBB", "libcgraph", "kernel cache", "runs on"})
    CHECK(subjects.count(subject) == 1);
#ifdef SINTER_CUDA
  for (const char* subject : {"CUDA driver", "NVRTC", "cuBLASLt"}) CHECK(subjects.count(subject) == 1);
#else
  CHECK(subjects.count("CUDA") == 1);
#endif
}

TEST_CASE("the doctor's report puts a hint below what is missing") {
  const std::string report =
      doctor_report({{"thing", "version 1"}, {"other thing", "not there", Health::absent, "get it"}});
  CHECK(report ==
        "thing        good    version 1\n"
        "other thing  absent  not there\n"
        "                     -> get it\n");
}
