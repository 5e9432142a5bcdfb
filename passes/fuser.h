// The state of the fuser while it merges groups: passes/fuse.cpp walks the graph, passes/fuse_merge.cpp
// decides whether two groups may become one, passes/fuse_across.cpp whether one that folds rows may fold
// across them, too, passes/fuse_siblings.cpp joins groups that read the same memory.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "passes/axis_trace.h"
#include "passes/partition.h"

namespace sinter::passes {

/// Limits of one kernel. Long chains are cut between `cut_from` and `ops` operations, where the operations
/// around the cut say so and not where counting from the start would, so that repeated blocks give equal
/// kernels.
struct FusionBudget {
  int ops = 256;
  int cut_from = 64;
  int operands = 48;
  int part_operands = 8;  // of what is joined with many others
  int reductions = 16;    // each is a walk over the row, or a part of one
  int cheap_flops = 8;    // a producer up to this cost is computed again rather than stored
  int cheap_leaves = 2;   // if it reads no more than this many stored values
};

class Fuser {
 public:
  Fuser(const ir::Graph& graph, const InputStrides& inputs, const ProductLibrary& library,
        const FusionOptions& options);
  Partition run();

 private:
  /// Axes of a node in its group's domain: per axis of the node, the domain's axis, or -1 for length 1.
  using Alignment = std::vector<int>;

  struct Building {
    GroupKind kind = GroupKind::kernel;
    std::vector<ir::Value> nodes;
    std::vector<ir::Value> copies;   // nodes of other groups that are computed again here
    std::vector<ir::Value> sources;  // stored values that it reads (inputs and other groups' nodes)
    std::vector<ir::Dim> domain;     // no axis of length 1
    std::vector<bool> reduced;       // per axis of the domain
    ir::Shape written;               // the domain as the user wrote it, with axes of length 1
    std::vector<ir::Value> across;   // reductions that fold the other axes instead
    bool has_reduction = false;
    bool in_segments = false;             // rows fold only the part of the folded axis that is theirs
    bool alone = false;                   // joins no others but casts, by SINTER_FUSION=elementwise
    bool in_parts = false;                // has a concat of so many tensors that several kernels write it
    int part_ops = 0;                     // of that and what comes before it, of which each kernel has a part
    std::vector<ir::Value> part_sources;  // the same of sources
    int reductions = 0;
    std::vector<int> readers;             // groups that read its results from memory, for find()
    std::uint32_t first = ~0u, last = 0;  // least and greatest node
    std::uint32_t horizon = 0;            // at least the greatest node among it and all that it depends on
  };

  struct Edge {
    ir::Value operand;       // as the consumer names it
    const AxisTrace* trace;  // down to the computed node beneath
    bool same_elements;      // the consumer's element i reads the operand's element i
    bool from_memory;        // it is searched, or read at places that only reading it tells
  };
  struct Refusal {
    ir::Value producer, consumer;
    std::string reason;
  };

  // fuse.cpp
  void classify(const InputStrides& inputs);
  void count_users();
  void measure_cost();
  std::vector<Edge> edges_of(ir::Value node) const;
  void visit(ir::Value node);
  ir::Shape segment_domain(ir::Value node) const;
  int start_group(ir::Value node, const std::vector<Edge>& edges);
  void read_stored(int group, ir::Value source);
  void raise_horizon(int group, std::uint32_t node);
  bool is_copied(ir::Value v, const Building& into) const;
  void copy_into(ir::Value v, int group);
  int find(int group);
  int group_of(ir::Value v) { return find(group_of_[v.id]); }

  // fuse_merge.cpp: an empty string where the merge was made, else why not
  std::string merge(int producer, ir::Value consumer, const std::vector<Edge>& edges);
  std::string unify(int producer, ir::Value consumer, const std::vector<Edge>& edges);
  std::string inline_moved(int producer, ir::Value consumer, const std::vector<Edge>& edges);
  bool stays_alone(const Building& producer, const Building& consumer) const;
  bool ends_chain(const Building& chain, ir::Value next) const;
  std::string over_budget(const Building& a, const Building& b) const;
  std::string over_budget_of_part(const Building& part, const Building& whole) const;
  bool reads_stored(const Building& reader, int producer);
  bool depends(int later, int earlier, std::span<const Edge> also);
  void absorb(int a, int b);
  Alignment operand_alignment(ir::Value consumer) const;
  std::optional<Alignment> embedding(const Building& inner, const Building& outer,
                                     const std::vector<Edge>& edges) const;
  void embed(Building& group, const Alignment& axes);

  // fuse_across.cpp
  bool is_after(const Edge& e) const { return after_[e.trace->source.id]; }
  bool reads_across(const std::vector<Edge>& edges) const {
    return std::ranges::any_of(edges, [&](const Edge& e) { return is_after(e); });
  }
  bool are_rows_and_columns(const Building& a, const Building& b) const;
  bool lies_in_row(ir::Value v, const Building& rows) const;
  bool is_stored_for_row(ir::Value v, const Building& columns, const Building& rows) const;
  std::string fold_across(int a, int b, const std::vector<Edge>& edges);

  // fuse_bias.cpp
  int product_with_bias(ir::Value node) const;
  void add_bias(int product, ir::Value node);

  // fuse_siblings.cpp
  void join_siblings();
  bool join(int a, int b);

  // fuse_assemble.cpp
  Partition assemble();
  std::vector<bool> values_read_elsewhere();
  Group finish(const Building& group, const std::vector<bool>& stored) const;
  std::string reason_for(ir::Value producer, const Group& reader) const;

  const ir::Graph& g_;
  const ProductLibrary library_;
  const bool elementwise_only_;
  const FusionOptions options_;
  FusionBudget budget_;
  std::vector<bool> computed_;  // what a group computes, and movements whose result must be stored
  std::vector<AxisTrace> traces_;
  std::vector<std::optional<ir::View>> views_;
  std::vector<std::uint32_t> users_;  // computed nodes and outputs that read a value, through movement ops
  std::vector<int> cost_,
      leaves_;  // of computing a value again from stored ones; large where that is not cheap
  std::vector<std::uint64_t>
      signature_;              // of the last operations leading to a node: says where chains may be cut
  std::vector<int> group_of_;  // per node, for find(); -1 where none
  std::vector<Building> groups_;
  std::vector<int> parent_;           // union-find over groups
  std::vector<Alignment> alignment_;  // per node, in its group's domain; empty if it was moved
  std::vector<bool> after_;  // per node: a reduction across rows, or what depends on one in its group
  std::vector<Refusal> refusals_;
};

}  // namespace sinter::passes
