// Runs the sinter tool as its users do and looks at what it says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sinter::testing {

struct ToolRun {
  int exit_code = -1;
  std::string out, err;
};

/// Runs the tool with these arguments, and these variables added to the environment.
ToolRun run_tool(const std::vector<std::string>& arguments,
                 const std::vector<std::pair<std::string, std::string>>& environment = {});

/// The same; the test fails unless it exits with 0 and says nothing on standard error.
std::string tool_output(const std::vector<std::string>& arguments);

/// The same, read as JSON.
nlohmann::json tool_json(const std::vector<std::string>& arguments);

/// The names of a JSON object's members, sorted.
std::vector<std::string> keys(const nlohmann::json& object);

/// The workloads, by `sinter list --names`.
std::vector<std::string> workload_names();

/// `--set` arguments under which a workload takes no time: every length that it has is small.
std::vector<std::string> small(const std::string& workload);

}  // namespace sinter::testing
