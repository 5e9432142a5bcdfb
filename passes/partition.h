// The fuser's result: which nodes of an optimised graph run together, and why the rest does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/view.h"
#include "passes/pass.h"

namespace sinter::passes {

/// kernel: generated code; gemm: a matrix product by the device's library, its first node, and what the
/// library does at its end: the addition of a bias, or nothing.
enum class GroupKind : std::uint8_t { kernel, gemm };

/// A set of nodes that one launch computes. Movement ops, constants and iota belong to no group: they are
/// index maps and literals, folded into whoever reads them.
struct Group {
  GroupKind kind = GroupKind::kernel;
  std::vector<ir::Value>
      nodes;  // in topological order; nodes that are computed again here may be in others, too
  std::vector<ir::Value> inputs;   // values read from memory: graph inputs and other groups' outputs
  std::vector<ir::Value> outputs;  // values written to memory
  ir::Shape domain;                // axes the kernel iterates over, outermost first
  std::vector<int> reduced;  // axes of the domain that its reductions fold; empty for a pointwise kernel
  std::vector<ir::Value> after_rows = {};  // reductions that fold the other axes instead, across rows, and
                                           // what depends on them, all of which lies along the reduced axes
};

/// A value that one group writes for another to read, and the rule that kept the two apart.
struct Boundary {
  ir::Value value;
  int from = -1;  // group that writes it
  int to = -1;    // group that reads it
  std::string reason;
};

struct Partition {
  std::vector<Group> groups;  // in an order in which they can run
  std::vector<Boundary> boundaries;
};

/// Where each value lies that has memory of its own (inputs, and whatever `fuse` may store) or is a view of
/// such; nothing for the others. A movement that a product reads and its library does not take in place is
/// memory of its own.
std::vector<std::optional<ir::View>> memory_views(const ir::Graph& graph, const InputStrides& inputs = {},
                                                  const ProductLibrary& library = {});

/// What a device's kernels can do beyond what all can.
struct FusionOptions {
  /// Fold rows and, at the same time, across them (passes/fuse_across.cpp).
  bool across_rows = false;
  /// A concat of more tensors is written in parts (codegen/divide.h).
  int most_joined = 16;
  /// Bytes beside its registers that a block has for such rows.
  std::int64_t row_memory = 0;
};

/// Groups the nodes of an optimised graph. See passes/fuse.cpp for the rules.
Partition fuse(const ir::Graph& graph, const InputStrides& inputs = {}, const ProductLibrary& library = {},
               const FusionOptions& options = {});

/// Whether the node is a concat of more than `most` tensors.
bool joins_many(const ir::Graph& graph, ir::Value node, int most);

/// True for the nodes that a group computes: elementwise ops, reductions, gathers, random bits, pad, concat,
/// products. The others are inputs, or index maps and literals that cost nothing.
bool is_computed(ir::Op op);

}  // namespace sinter::passes
