// ONNX files as C++ values: models, their graphs and nodes, and tensors, whose data becomes an ir::Array.
//
// Only what the node tests use is read; fields of other kinds are passed over. What sinter has no dtype for
// throws UnsupportedError with the reason, which the tests match against the list of expected skips.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/array.h"

namespace sinter::testing::onnx {

struct Attribute {
  float real = 0;
  std::int64_t integer = 0;
  std::string text;
  std::optional<ir::Array> tensor;
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  bool has_graph = false;
};

struct Node {
  std::string op;
  std::vector<std::string> inputs;  // "" where an optional one is left out
  std::vector<std::string> outputs;
  std::map<std::string, Attribute, std::less<>> attributes;
};

struct Model {
  std::int64_t opset = 0;
  std::vector<Node> nodes;  // in topological order
  std::map<std::string, ir::Array> initializers;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// The dtype that ONNX gives this number; throws UnsupportedError for those that sinter does not have.
DType dtype_from_onnx(std::int64_t number);

Model parse_model(std::string_view text);
ir::Array parse_tensor(std::string_view text);

/// The whole file; throws ValueError when it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace sinter::testing::onnx
