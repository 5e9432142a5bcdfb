#include "ir/base/settings.h"

#include <set>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::CapturedLog;
using sinter::testing::ScopedEnvironment;

TEST_CASE("settings have their defaults where the environment says nothing") {
  const ScopedEnvironment environment{
      {"SINTER_CACHE_SIZE", {}}, {"SINTER_NUMERICS", {}}, {"SINTER_LOG", ""}, {"SINTER_COMPILE_TIMEOUT", {}}};
  CHECK(settings().cache_size == std::int64_t{1} << 30);
  CHECK(settings().numerics == "standard");
  CHECK(settings().log.empty());
  CHECK(settings().compile_timeout == 60);
  CHECK(settings().cache);
  CHECK_FALSE(settings().check);
}

TEST_CASE("sizes take suffixes") {
  const auto [text, bytes] = GENERATE(table<std::string, std::int64_t>(
      {{"4096", 4096}, {"12k", 12 << 10}, {"3M", 3 << 20}, {"2G", std::int64_t{2} << 30}, {" 7 ", 7}}));
  const ScopedEnvironment environment{{"SINTER_CACHE_SIZE", text}};
  CHECK(settings().cache_size == bytes);
}

TEST_CASE("the values 0 and off switch off any setting but a choice and a device, where they are wrong") {
  const std::string off = GENERATE("0", "off");
  const ScopedEnvironment environment{{"SINTER_LOG", off},       {"SINTER_DUMP", off},
                                      {"SINTER_CACHE", off},     {"SINTER_CXX", off},
                                      {"SINTER_CACHE_DIR", off}, {"SINTER_COMPILE_TIMEOUT", off},
                                      {"SINTER_CHECK", off}};
  CHECK(settings().compile_timeout == 0);
  CHECK(settings().log.empty());
  CHECK(settings().dump.empty());
  CHECK_FALSE(settings().cache);
  CHECK(settings().cxx.empty());
  CHECK(settings().cache_dir.empty());
  CHECK_FALSE(settings().check);
  for (const SettingInfo& info : list_settings()) {
    const CapturedLog log;
    const ScopedEnvironment switched_off{{info.name, off}};
    reread_settings();
    const bool is_wrong = info.type == SettingType::Choice || info.type == SettingType::Device;
    INFO(info.name);
    CHECK(log.count(info.name + "=" + off + " is not one of ") == (is_wrong ? 1 : 0));
  }
}

TEST_CASE("a device is warned of where it is none, and kept for those who refuse it") {
  const auto [value, is_one] = GENERATE(table<std::string, bool>({{"cuda:12", true},
                                                                  {"cpu", true},
                                                                  {"auto", true},
                                                                  {"cuda:", false},
                                                                  {"cuda:N", false},
                                                                  {"cuda:-1", false},
                                                                  {"gpu", false}}));
  const CapturedLog log;
  const ScopedEnvironment environment{{"SINTER_DEVICE", value}};
  reread_settings();
  CHECK(log.count("SINTER_DEVICE=" + value + " is not one of auto|cpu|cuda|cuda:N") == (is_one ? 0 : 1));
  CHECK(settings().device == value);
}

TEST_CASE("a list is split at commas") {
  const ScopedEnvironment environment{{"SINTER_DISABLE_PASSES", "cse, merge_reductions,,fold"}};
  CHECK(settings().disable_passes == std::vector<std::string>{"cse", "merge_reductions", "fold"});
}

TEST_CASE("a value that does not parse is warned of once and the default holds") {
  const auto [name, value, expected] = GENERATE(table<std::string, std::string, std::string>(
      {{"SINTER_CACHE_SIZE", "12Q", "a number of bytes"},
       {"SINTER_CACHE_SIZE", "-1", "a number of bytes"},
       {"SINTER_CACHE_SIZE", "99999999999G", "a number of bytes"},
       {"SINTER_THREADS", "2k", "a whole number"},
       {"SINTER_CHECK", "maybe", "0 or 1"},
       {"SINTER_NUMERICS", "strct", "one of strict|standard|fast"},
       {"SINTER_LOG", "cache,fushion", "a list of names out of graph|fusion"}}));
  const CapturedLog log;
  const ScopedEnvironment environment{{name, value}};
  reread_settings();
  CHECK(log.count(name + "=" + value + " is not " + expected) == 1);
  for (const SettingInfo& info : list_settings()) {
    if (info.name != name) continue;
    CHECK(info.value == info.default_text);
    CHECK_FALSE(info.is_set);
  }
  CHECK(settings().cache_size == std::int64_t{1} << 30);
  CHECK(settings().threads == 0);
  CHECK(settings().numerics == "standard");
  CHECK(settings().log.empty());
}

TEST_CASE("an unknown SINTER_ variable is warned of once, with the closest name") {
  const CapturedLog log;
  const ScopedEnvironment environment{{"SINTER_CASH_DIR", "/x"}};
  reread_settings();
  REQUIRE(log.lines().size() == 1);
  CHECK_THAT(log.lines()[0],
             ContainsSubstring("SINTER_CASH_DIR is set") && ContainsSubstring("SINTER_CACHE_DIR"));
}

TEST_CASE("the table of settings shows every name once with its default and meaning") {
  const ScopedEnvironment environment{{"SINTER_THREADS", "3"}, {"SINTER_NUMERICS", {}}};
  const std::string markdown = settings_markdown(), report = settings_report();
  std::set<std::string> names;
  for (const SettingInfo& info : list_settings()) {
    CHECK(names.insert(info.name).second);
    CHECK_FALSE(info.doc.empty());
    CHECK_THAT(markdown, ContainsSubstring("| `" + info.name + "` |"));
    CHECK_THAT(report, ContainsSubstring(info.name + "=" + info.value));
    CHECK(info.is_set == (std::getenv(info.name.c_str()) != nullptr));
  }
  CHECK(names.count("SINTER_CACHE_DIR") == 1);
  CHECK_THAT(report, ContainsSubstring("SINTER_THREADS=3"));
}
