// The reference evaluator: the oracle that everything else is compared with.
//
// Floats are long double from end to end. They are rounded to a dtype only where the graph says so: by a
// cast, by a generator (constant, iota), and where an operation is discrete (comparison, floor, sign, isinf,
// argmax, cast to whole numbers), which sees its operands rounded to their dtype, since a value a hair beside
// a jump says nothing about the result. Whole numbers are int64, wrapped to the dtype at every node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace sinter::ir {

/// A tensor of exact values, contiguous in row-major order: `reals` for float dtypes, `wholes` for the
/// others.
struct Exact {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<long double> reals;
  std::vector<std::int64_t> wholes;

  /// All elements zero.
  Exact() = default;
  Exact(DType dtype, std::vector<std::int64_t> shape);
  explicit Exact(const Array& array);

  std::int64_t elements() const;
  /// An element rounded to the dtype.
  Scalar at(std::int64_t index) const;
  /// All elements rounded to the dtype.
  Array rounded() const;
};

/// The outputs, in order. The graph's dims must be numbers (see ir/bind.h); inputs must have the graph's
/// dtypes and shapes, else ValueError. An intermediate result is freed once its last reader is done.
std::vector<Exact> evaluate_reference(const Graph& graph, std::span<const Array> inputs);

/// One node, whatever it is but an input, on its operands' values.
Exact evaluate_reference_node(const Graph& graph, Value node, std::span<const Exact* const> operands);

}  // namespace sinter::ir
