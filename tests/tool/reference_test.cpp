// ops, env, doctor, cache, help: what the tool knows of itself and of the machine.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/support/places.h"
#include "tests/support/sandbox.h"
#include "tests/tool/tool.h"

using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::string document(const std::string& name) {
  return read_text(source_file("docs/" + name));
}

}  // namespace

TEST_CASE("docs/ops.md is the op table of this build") {
  INFO("sinter ops --markdown >docs/ops.md");
  CHECK(document("ops.md") == tool_output({"ops", "--markdown"}));
}

TEST_CASE("docs/settings.md is the table of settings of this build") {
  INFO("sinter env --markdown >docs/settings.md");
  CHECK(document("settings.md") == tool_output({"env", "--markdown"}));
}

TEST_CASE("docs/tool.md shows how every operation that is not elementwise is written") {
  const std::string text = document("tool.md");
  const std::size_t begin = text.find("    graph @attributes("), end = text.find("    }\n", begin);
  REQUIRE(end != text.npos);
  const std::string graph = text.substr(begin, end + 6 - begin);
  const TemporaryDirectory directory;
  const std::string file = directory.write("attributes.graph", graph);
  CHECK(run_tool({"explain", file, "--target", "cpu"}).exit_code == 0);
  std::istringstream ops(tool_output({"ops"}));
  int shown = 0;
  std::string family;
  for (std::string line, op; std::getline(ops, line);) {
    if (!line.starts_with(" ")) family = line;
    const bool has_attributes = family == "Movement" || family == "Gathers" || family == "Scatters";
    if (!has_attributes || !line.starts_with(" ") || !(std::istringstream(line) >> op)) continue;
    INFO(op);
    CHECK(graph.find("= " + op + "(") != graph.npos);
    ++shown;
  }
  CHECK(shown >= 11);
  for (const char* op : {"sum", "argmax", "cast", "iota", "random_bits", "matmul"})
    CHECK(graph.find(std::string("= ") + op + "(") != graph.npos);
}

TEST_CASE("ops lists every operation with its meaning") {
  const std::string text = tool_output({"ops"});
  for (const char* line :
       {"  tanh             hyperbolic tangent", "  matmul ", "  take_along_axis ", "  iota "})
    CHECK_THAT(text, ContainsSubstring(line));
}

TEST_CASE("env shows the settings in force") {
  CHECK_THAT(run_tool({"env"}, {{"SINTER_NUMERICS", "strict"}}).out,
             ContainsSubstring("SINTER_NUMERICS=strict"));
}

TEST_CASE("env warns of a value that is wrong, and shows what holds") {
  const auto [name, value, holds] = GENERATE(table<std::string, std::string, std::string>({
      {"SINTER_NUMERICS", "quick", "standard"},
      {"SINTER_FUSION", "0", "full"},
      {"SINTER_CACHE_SIZE", "12Q", "1G"},
      {"SINTER_LOG", "everything", ""},
  }));
  const ToolRun run = run_tool({"env"}, {{name, value}});
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.err, ContainsSubstring("warning: " + name + "=" + value + " is not "));
  CHECK_THAT(run.out, ContainsSubstring(name + "=" + holds + " ") && !ContainsSubstring(name + "=" + value));
  const std::size_t line = run.out.find(name + "=");
  CHECK(run.out.substr(line, run.out.find('\n', line) - line).find('*') == std::string::npos);
}

TEST_CASE("every verb warns of settings that do not exist, once") {
  const std::vector<std::string> arguments = GENERATE(values<std::vector<std::string>>(
      {{"env"}, {"list"}, {"ops"}, {"doctor"}, {"cache", "info"}, {"explain", "gelu"}, {"--version"}}));
  const ToolRun run = run_tool(arguments, {{"SINTER_NUMERIC", "fast"}});
  CHECK(run.exit_code == 0);
  CHECK(run.err ==
        "sinter: warning: SINTER_NUMERIC is set, but sinter has no such setting; the closest is "
        "SINTER_NUMERICS\n");
}

TEST_CASE("doctor says what is there") {
  const std::string text = tool_output({"doctor"});
  for (const char* subject :
       {"sinter ", "C++ compiler ", "OpenBLAS ", "threads ", "kernel cache ", "CUDA driver "})
    CHECK_THAT(text, ContainsSubstring(subject));
}

TEST_CASE("help and version are no mistakes") {
  CHECK_THAT(tool_output({"--help"}), ContainsSubstring("explain"));
  CHECK_THAT(tool_output({"--help"}), !ContainsSubstring("first-call"));
  CHECK_THAT(tool_output({"run", "--help"}), ContainsSubstring("--output-dir"));
  CHECK_THAT(tool_output({"--version"}), ContainsSubstring("sinter 0."));
}

TEST_CASE("the cache is shown, checked and cleared") {
  const TemporaryDirectory directory;
  const Environment here{{"SINTER_CACHE_DIR", directory / "cache"}, {"SINTER_CACHE", "1"}};
  auto cache = [&](const std::string& verb) { return run_tool({"cache", verb}, here); };
  const ToolRun run = run_tool({"run", "silu", "--set", "rows=2", "--set", "cols=2"}, here);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(cache("info").out, ContainsSubstring("directory  " + directory / "cache"));
  CHECK_THAT(cache("list").out, ContainsSubstring(".entry"));
  CHECK_THAT(cache("verify").out, ContainsSubstring("0 bad"));

  for (const auto& entry : std::filesystem::directory_iterator(directory / "cache")) {
    if (entry.path().extension() != ".entry") continue;
    std::ofstream(entry.path(), std::ios::app) << "damage";
    break;
  }
  const ToolRun damaged = cache("verify");
  CHECK(damaged.exit_code == 1);
  CHECK(damaged.out.empty());
  CHECK_THAT(damaged.err, ContainsSubstring("1 bad"));

  CHECK_THAT(cache("clear").out, ContainsSubstring("entries removed"));
  CHECK_THAT(cache("info").out, ContainsSubstring("entries    0"));
  CHECK(cache("list").out.empty());
}

TEST_CASE("a cache that is switched off is said to be") {
  const ToolRun run = run_tool({"cache", "info"}, {{"SINTER_CACHE", "0"}});
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("no kernels are kept on disk"));
}
