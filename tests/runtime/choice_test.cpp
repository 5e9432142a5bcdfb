// Which candidate wins, how long that may take, and how a choice is kept.
#include "runtime/choice.h"

#include <sinter/error.h>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::runtime;
using sinter::testing::TemporaryDirectory;

namespace {

/// Launches that take what they say, on a clock that nothing else moves.
class Race final : public Stopwatch {
 public:
  explicit Race(std::vector<double> seconds) : seconds_(std::move(seconds)), runs_(seconds_.size()) {}

  double time(const std::function<void()>& start) override {
    start();
    now_ += last_;
    return last_;
  }
  double now() override { return now_; }

  std::vector<std::function<void()>> runs() {
    std::vector<std::function<void()>> all;
    for (std::size_t i = 0; i < seconds_.size(); ++i)
      all.emplace_back([this, i] {
        ++runs_[i];
        last_ = seconds_[i];
      });
    return all;
  }
  int runs_of(std::size_t i) const { return runs_[i]; }

 private:
  std::vector<double> seconds_;
  std::vector<int> runs_;
  double last_ = 0, now_ = 0;
};

Choice winner(std::vector<double> seconds) {
  Race race(std::move(seconds));
  return fastest(race, race.runs(), 0.05);
}

}  // namespace

TEST_CASE("the fastest candidate wins, if it is faster than the default by more than noise") {
  CHECK(winner({1e-3, 0.9e-3, 0.8e-3, 1.2e-3}).candidate == 2);
  CHECK(winner({1e-3, 0.985e-3}).candidate == 0);
  CHECK(winner({1e-3, 0.97e-3}).candidate == 1);
  CHECK(winner({3e-6, 2.8e-6}).candidate == 0);
  CHECK(winner({1e-3}).candidate == 0);
  const Choice choice = winner({1e-3, 0.5e-3});
  CHECK(choice.of == 2);
  CHECK(choice.ms == Approx(0.5));
  CHECK(choice.untuned_ms == Approx(1));
}

TEST_CASE("timing keeps to its budget, and long kernels keep their schedule") {
  for (const double seconds : {1e-5, 1e-4, 1e-3, 3e-3, 6e-3, 1e-2, 1.0}) {
    Race race(std::vector<double>(6, seconds));
    fastest(race, race.runs(), 0.05);
    INFO(seconds);
    CHECK(race.now() <= std::max(0.0501, seconds));
  }
  CHECK(winner({1, 0.1}).candidate == 0);
  CHECK(winner({1, 0.1}).str() == "none of 2 candidates: it takes too long to be timed");
}

TEST_CASE("what is much slower is not run again") {
  Race race({1e-3, 2e-3, 0.9e-3});
  CHECK(fastest(race, race.runs(), 0.05).candidate == 2);
  CHECK(race.runs_of(1) == 2);
  CHECK(race.runs_of(2) > 4);
}

TEST_CASE("candidates that cannot be had, or do not run, are left out") {
  Race race({1e-3, 1e-4, 0.5e-3, 0.8e-3});
  std::vector<std::function<void()>> runs = race.runs();
  runs[1] = nullptr;
  runs[2] = [] { throw DeviceError("too many resources requested for launch"); };
  const Choice choice = fastest(race, runs, 0.05);
  CHECK(choice.candidate == 3);
  CHECK(choice.of == 4);
  runs[0] = runs[2];
  CHECK_THROWS_AS(fastest(race, runs, 0.05), DeviceError);
}

TEST_CASE("a choice is found again, in memory and by the next process") {
  const TemporaryDirectory directory;
  DiskCache disk({directory / "c"});
  ChoiceBook book(disk);
  CHECK(!book.find("a kernel", 5));
  book.keep("a kernel", {3, 5, 0.25, 0.5});
  DiskCache again({directory / "c"});
  ChoiceBook next(again);
  for (ChoiceBook* b : {&book, &next, &next}) {
    const std::optional<Choice> choice = b->find("a kernel", 5);
    REQUIRE(choice);
    CHECK(choice->candidate == 3);
    CHECK(choice->of == 5);
    CHECK(choice->ms == 0.25);
    CHECK(choice->untuned_ms == 0.5);
    CHECK(!b->find("another kernel", 5));
  }
}

TEST_CASE("an entry that does not read as a choice is none") {
  const TemporaryDirectory directory;
  DiskCache disk({directory / "c"});
  for (const char* text :
       {"", "{", "[]", "3", "{\"candidate\": 1}", R"({"candidate": 5, "of": 5, "ms": 1, "untuned_ms": 1})",
        R"({"candidate": -1, "of": 5, "ms": 1, "untuned_ms": 1})",
        R"({"candidate": 1.5, "of": 5, "ms": 1, "untuned_ms": 1})",
        R"({"candidate": 1e300, "of": 5, "ms": 1, "untuned_ms": 1})",
        R"({"candidate": "1", "of": 5, "ms": 1, "untuned_ms": 1})",
        R"({"candidate": 1, "of": 4, "ms": 1, "untuned_ms": 1})"}) {
    disk.store("key", text);
    INFO(text);
    CHECK(!ChoiceBook(disk).find("key", 5));
  }
  disk.store("key", R"({"candidate": 1, "of": 5, "ms": 1, "untuned_ms": 1})");
  CHECK(ChoiceBook(disk).find("key", 5));
}

TEST_CASE("without a disk cache choices are kept in memory") {
  DiskCache none({""});
  ChoiceBook book(none);
  book.keep("a kernel", {1, 2, 1, 2});
  CHECK(book.find("a kernel", 2));
}
