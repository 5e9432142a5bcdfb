// The node cases of Debian's libonnx-testdata: one operator, or its expansion, with inputs and expected
// outputs.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tests/onnx/model.h"

namespace sinter::testing::onnx {

/// The cases' directories in order of their names; none when the package is not installed.
std::vector<std::filesystem::path> node_cases();

/// The operators that a case's model uses, those within the bodies of its loops left out.
std::set<std::string> operators_of(const std::filesystem::path& path);

/// Evaluates a graph on inputs.
using Run = std::function<std::vector<ir::Array>(ir::Graph, std::span<const ir::Array>)>;

enum class Outcome { passed, unsupported, failed };

struct Verdict {
  Outcome outcome = Outcome::passed;
  std::string message;  // what is not supported, or how the case failed
};

/// Imports the case, runs it on each of its data sets, and compares within ONNX's tolerances.
Verdict check_case(const std::filesystem::path& path, const Run& run);

/// One line of skips.txt: which cases do not pass, and why.
struct ExpectedSkip {
  std::string pattern;  // as of a shell
  std::string reason;   // the message of the UnsupportedError, or "differs: " and why ONNX is not followed
  bool matches(const std::string& name) const;
};

std::vector<ExpectedSkip> read_expected_skips(const std::filesystem::path& path);

}  // namespace sinter::testing::onnx
