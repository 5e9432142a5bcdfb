#include "tests/tool/tool.h"

#include <map>
#include <sstream>

#include "runtime/subprocess.h"
#include "tests/catch.h"
#include "tests/support/places.h"

namespace sinter::testing {

ToolRun run_tool(const std::vector<std::string>& arguments,
                 const std::vector<std::pair<std::string, std::string>>& environment) {
  runtime::Command command;
  command.arguments.push_back(built_file(SINTER_TOOL));
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment = environment;
  command.time_limit = std::chrono::seconds(120);
  command.kept_bytes = 4 << 20;
  const runtime::Outcome outcome = runtime::run_program(command);
  INFO("sinter " << outcome.describe());
  REQUIRE(outcome.failure.empty());
  REQUIRE(outcome.signal == 0);
  return {outcome.exit_code, outcome.out, outcome.err};
}

std::string tool_output(const std::vector<std::string>& arguments) {
  const ToolRun run = run_tool(arguments);
  INFO(arguments.front() << " said: " << run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.empty());
  return run.out;
}

nlohmann::json tool_json(const std::vector<std::string>& arguments) {
  return nlohmann::json::parse(tool_output(arguments));
}

std::vector<std::string> keys(const nlohmann::json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  std::istringstream lines(tool_output({"list", "--names"}));
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  return names;
}

std::vector<std::string> small(const std::string& workload) {
  const std::map<std::string, std::string> lengths{
      {"rows", "6"}, {"cols", "10"}, {"dim", "8"}, {"batch", "4"}, {"layers", "2"}};
  std::istringstream lines(tool_output({"list"}));
  std::vector<std::string> arguments;
  for (std::string line; std::getline(lines, line);) {
    if (line.substr(0, line.find(' ')) != workload) continue;
    for (const auto& [name, length] : lengths)
      if (line.find(" " + name + "=") != std::string::npos)
        arguments.insert(arguments.end(), {"--set", name + "=" + length});
  }
  return arguments;
}

}  // namespace sinter::testing
