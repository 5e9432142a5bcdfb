// docs/rules.md is made from the rules' tables.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "passes/rules.h"
#include "tests/catch.h"
#include "tests/support/places.h"

namespace sinter::passes {
namespace {

TEST_CASE("docs/rules.md lists the rules as they are") {
  const std::string path = testing::source_file("docs/rules.md");
  if (std::getenv("WRITE_DOCS") != nullptr) std::ofstream(path) << rules_markdown();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  INFO("run WRITE_DOCS=1 test_passes to write it");
  CHECK(text.str() == rules_markdown());
}

}  // namespace
}  // namespace sinter::passes
