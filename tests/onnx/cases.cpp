#include "tests/onnx/cases.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "ir/base/check.h"
#include "tests/onnx/importer.h"

namespace sinter::testing::onnx {
namespace {

namespace fs = std::filesystem;

const fs::path cases_directory = "/usr/share/libonnx-testdata/data/node";

constexpr double relative_tolerance = 1e-3, absolute_tolerance = 1e-7;  // those of ONNX's own test runner

bool close(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= absolute_tolerance + relative_tolerance * std::abs(want);
}

/// How two arrays differ, or "" when they do not.
std::string difference(const ir::Array& got, const ir::Array& want) {
  if (got.dtype != want.dtype) return fmt::format("dtype {} for {}", name(got.dtype), name(want.dtype));
  if (got.shape != want.shape)
    return fmt::format("shape [{}] for [{}]", fmt::join(got.shape, ", "), fmt::join(want.shape, ", "));
  for (std::int64_t i = 0; i < want.elements(); ++i) {
    const ir::Scalar a = got.at(i), b = want.at(i);
    const double got_value = static_cast<double>(a.real()), want_value = static_cast<double>(b.real());
    const bool same = is_float(want.dtype) ? close(got_value, want_value) : a == b;
    if (!same) return fmt::format("element {}: {} for {}", i, got_value, want_value);
  }
  return "";
}

/// The tensors PREFIX_0.pb, PREFIX_1.pb, … of a data set.
std::vector<ir::Array> read_tensors(const fs::path& directory, const std::string& prefix) {
  std::vector<ir::Array> tensors;
  for (int i = 0; fs::exists(directory / fmt::format("{}_{}.pb", prefix, i)); ++i)
    tensors.push_back(parse_tensor(read_file(directory / fmt::format("{}_{}.pb", prefix, i))));
  return tensors;
}

/// Throws when an output is not as expected.
void check_data_set(const Model& model, const fs::path& directory, const Run& run) {
  const std::vector<ir::Array> want = read_tensors(directory, "output");
  Imported imported = import_model(model, read_tensors(directory, "input"));
  const std::vector<ir::Array> got = run(std::move(imported.graph), imported.inputs);
  if (want.empty() || got.size() != want.size())
    fail<ValueError>("{} outputs for {}", got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::string text = difference(got[i], want[i]);
    if (!text.empty()) fail<ValueError>("output {}: {}", i, text);
  }
}

}  // namespace

std::vector<fs::path> node_cases() {
  std::vector<fs::path> cases;
  if (!fs::exists(cases_directory)) return cases;
  for (const auto& entry : fs::directory_iterator(cases_directory)) cases.push_back(entry.path());
  std::ranges::sort(cases);
  return cases;
}

std::set<std::string> operators_of(const fs::path& path) {
  std::set<std::string> operators;
  try {
    for (const Node& node : parse_model(read_file(path / "model.onnx")).nodes) operators.insert(node.op);
  } catch (const UnsupportedError&) {  // of a kind that no group of operators holds
    operators.insert("");
  }
  return operators;
}

Verdict check_case(const fs::path& path, const Run& run) {
  try {
    const Model model = parse_model(read_file(path / "model.onnx"));
    int set = 0;
    for (; fs::exists(path / fmt::format("test_data_set_{}", set)); ++set)
      check_data_set(model, path / fmt::format("test_data_set_{}", set), run);
    if (set == 0) fail<ValueError>("no data set");
    return {};
  } catch (const UnsupportedError& error) {
    return {Outcome::unsupported, error.what()};
  } catch (const std::exception& error) {
    return {Outcome::failed, error.what()};
  }
}

bool ExpectedSkip::matches(const std::string& name) const {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::vector<ExpectedSkip> read_expected_skips(const fs::path& path) {
  std::vector<ExpectedSkip> skips;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t gap = line.find_first_of(' '), reason = line.find_first_not_of(' ', gap);
    if (reason == std::string::npos) fail<ValueError>("{}: no reason in the line: {}", path.string(), line);
    skips.push_back({line.substr(0, gap), line.substr(reason)});
  }
  return skips;
}

}  // namespace sinter::testing::onnx
