// From an ONNX model to a graph of sinter.
//
// ONNX takes as operands much of what is fixed in sinter's graph: axes, shapes, ranges. A model is therefore
// imported for given inputs, and such operands are read from their values. Tensors that stand in the model
// itself become further inputs of the graph, bound in the result.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "tests/onnx/model.h"

namespace sinter::testing::onnx {

struct Imported {
  ir::Graph graph;
  std::vector<ir::Array> inputs;  // the model's own, then the tensors that stand in it
};

/// Throws UnsupportedError, which names the operator and what about it is not supported.
Imported import_model(const Model& model, std::span<const ir::Array> inputs);

}  // namespace sinter::testing::onnx
