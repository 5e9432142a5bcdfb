#include "ir/base/log.h"

#include <unistd.h>

#include <thread>

#include "ir/base/settings.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using sinter::testing::CapturedLog;
using sinter::testing::ScopedEnvironment;

TEST_CASE("only the topics that SINTER_LOG names are logged") {
  const ScopedEnvironment environment{{"SINTER_LOG", "cache,timing"}};
  const CapturedLog captured;
  log(Topic::cache, "one {}", 1);
  log(Topic::fusion, "two");
  log(Topic::timing, "three");
  CHECK(captured.lines() == std::vector<std::string>{"sinter [cache] one 1", "sinter [timing] three"});
}

TEST_CASE("every topic can be named in SINTER_LOG") {
  const ScopedEnvironment environment{
      {"SINTER_LOG", "graph,fusion,source,guards,recompiles,cache,timing,device"}};
  const CapturedLog captured;
  CHECK(captured.lines().empty());
  for (const Topic topic : {Topic::graph, Topic::fusion, Topic::source, Topic::guards, Topic::recompiles,
                            Topic::cache, Topic::timing, Topic::device})
    CHECK(log_enabled(topic));
  CHECK(settings().log.size() == 8);
}

TEST_CASE("a warning is written once per key") {
  const CapturedLog captured;
  for (int i = 0; i < 3; ++i) warn_once("test key", "number {}", i);
  warn_once("another key", "other");
  CHECK(captured.lines() == std::vector<std::string>{"sinter: warning: number 0", "sinter: warning: other"});
}

TEST_CASE("lines of several threads come out whole, on standard error") {
  const ScopedEnvironment environment{{"SINTER_LOG", "graph"}};
  const sinter::testing::TemporaryDirectory directory;
  const std::string file = directory / "stderr";
  REQUIRE(sinter::testing::in_child([&] {
            if (std::freopen(file.c_str(), "w", stderr) == nullptr) return 1;
            std::vector<std::thread> threads;
            for (int t = 0; t < 4; ++t)
              threads.emplace_back([] {
                for (int i = 0; i < 100; ++i) log(Topic::graph, "{:-^200}", i);
              });
            for (std::thread& thread : threads) thread.join();
            return std::fflush(stderr);
          }) == 0);
  std::istringstream lines(sinter::testing::read_text(file));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    CHECK(line.size() == 200 + sizeof("sinter [graph]"));
  CHECK(count == 400);
}
