// Dtype and shape of a node from its operands and attributes, with every rule checked. The rules here are the
// strict ones of the graph (elementwise operands share one dtype and, but for scalars of rank 0, one shape);
// ir/build.h brings what users write into that form.
#pragma once

#include <span>

#include "ir/graph.h"

namespace sinter::ir {

struct Inferred {
  DType dtype;
  const Shape* same = nullptr;  // an operand's shape, when the result has it
  Shape shape;                  // else the result's
};

/// Throws ShapeError, DTypeError or ValueError when the node would break a rule.
Inferred infer(const Graph& graph, Op op, std::span<const Value> operands, const Attrs& attrs);

}  // namespace sinter::ir
