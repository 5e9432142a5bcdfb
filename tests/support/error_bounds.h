// How far a right program may be off: the reference values of a graph, each with a bound on the error that
// rounding at every node (or at none, as in fused 16-bit chains) can lead to.
//
// The bound is carried along node by node: what an operand's error does to a result is found by evaluating
// the node at both ends of it, and the node's own rounding is added. Where an error decides a class or a
// branch (a comparison, an overflow, a pole within reach) the bound is infinite, and so on through everything
// that depends on it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/evaluate_reference.h"

namespace sinter::testing {

struct Bounded {
  ir::Exact value;
  std::vector<double> error;  // per element, absolute
};

std::vector<Bounded> evaluate_bounded(const ir::Graph& graph, std::span<const ir::Array> inputs);

/// Each output against the bounds; "" or the first mismatch with the output's number.
std::string mismatch(const std::vector<ir::Array>& got, const std::vector<Bounded>& expected);

/// The share of elements whose bound is finite: what such a comparison covers.
double decided(const std::vector<Bounded>& outputs);

}  // namespace sinter::testing
