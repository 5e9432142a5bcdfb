#include "runtime/batch_launches.h"

#include "codegen/batch.h"
#include "tests/catch.h"

using namespace sinter;
using runtime::join_launches;
using runtime::LaunchCandidate;

namespace {

using Launches = std::vector<std::vector<int>>;

LaunchCandidate small(std::string_view text, std::vector<int> after = {}) {
  LaunchCandidate c;
  c.after = std::move(after);
  c.text = text;
  c.most = 100;
  c.blocks = 1;
  return c;
}

LaunchCandidate alone(std::vector<int> after = {}) {
  LaunchCandidate c;
  c.after = std::move(after);
  return c;
}

Launches joined(const std::vector<LaunchCandidate>& candidates) {
  return join_launches(candidates);
}

}  // namespace

TEST_CASE("launches of one text join, others keep theirs") {
  CHECK(joined({}).empty());
  CHECK(joined({small("a"), small("b"), small("a"), alone(), alone(), small("b"), small("a")}) ==
        Launches{{0, 2, 6}, {1, 5}, {3}, {4}});
}

TEST_CASE("a launch runs after all that its parts wait for") {
  // A chain of one text, and a second one beside it.
  CHECK(joined({small("a"), small("a", {0}), small("a", {1}), small("a"), small("a", {3}),
                small("a", {4})}) == Launches{{0, 3}, {1, 4}, {2, 5}});
  // Through something else: 2 waits for the launch of 0.
  CHECK(joined({small("a"), alone({0}), small("a", {1}), small("a")}) == Launches{{0, 3}, {1}, {2}});
  // 3 could run with 0 but for what it waits for, and runs with 2, which is later.
  CHECK(joined({small("a"), small("b", {0}), small("a", {1}), small("a", {1})}) ==
        Launches{{0}, {1}, {2, 3}});
  // 1 and 2 wait for each other's launch, were both pairs joined.
  CHECK(joined({small("a"), small("b", {0}), small("b"), small("a", {2})}) == Launches{{0}, {1, 2}, {3}});
}

TEST_CASE("a launch of too many parts becomes several of about as many each") {
  std::vector<LaunchCandidate> candidates(101, small("a"));
  const Launches launches = joined(candidates);
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].size() == 50);
  CHECK(launches[1].size() == 51);
  CHECK(launches[1].back() == 100);
}

TEST_CASE("shared memory, blocks and what is kept for others bound a launch") {
  std::vector<LaunchCandidate> candidates(2, small("a"));
  candidates[1].shared_bytes = 1024;
  CHECK(joined(candidates).size() == 2);
  candidates.assign(2, small("a"));
  candidates[0].blocks = candidates[1].blocks = std::int64_t{1} << 30;
  CHECK(joined(candidates).size() == 2);
  candidates[0].blocks -= 1;
  CHECK(joined(candidates).size() == 1);
  candidates.assign(3, small("a"));
  for (LaunchCandidate& c : candidates) c.kept_bytes = 32 << 20;
  CHECK(joined(candidates) == Launches{{0, 1}, {2}});
}

TEST_CASE("the parameters of a batch fit 4096 bytes") {
  using namespace codegen;
  CHECK(batch_bytes(1, 88) == 96);
  CHECK(batch_bytes(2, 88) == 192);  // 176, and three numbers of 4 bytes, in eights
  CHECK(most_instances(88) == 44);   // 44 * 92 + 4 = 4052
  CHECK(most_instances(4096) == 1);
  CHECK(batch_for(2, 88) == 2);
  CHECK(batch_for(3, 88) == 4);
  CHECK(batch_for(32, 88) == 32);
  CHECK(batch_for(33, 88) == 44);
  CHECK(batch_for(44, 88) == 44);
}
