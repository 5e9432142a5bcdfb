// Cuts what the fuser has put together where a GPU would be left idle. A kernel whose rows are needed again
// after they are folded, as in softmax, has a block or a cluster for each row; of few long rows it uses few
// processors. Cut after each fold, every kernel but the last folds rows that all processors share, and the
// last one has no rows at all: the tensor is read more often, but many times faster.
#pragma once

#include <optional>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/schedule.h"
#include "passes/partition.h"

namespace sinter::codegen {

/// A reduction that is folded along with another, for all that it needs that one's result.
struct Joined {
  ir::Value follower, leader;
};

struct Cut {
  bool pays = false;
  std::vector<Joined> joined;
};

/// Whether a kernel is to be cut at its folds, and which of them are one.
Cut cut_of(const Kernel& kernel, const Schedule& schedule, const DeviceDescription& device);

/// The groups into which `group` is cut, in the order in which they run: each folds what needs no fold of a
/// later one, stores what depends on no other, and hands on values that are one per row. What there is one of
/// per element is computed anew by each group that needs it, or read where it is stored anyway.
std::vector<passes::Group> cut_at_folds(const ir::Graph& graph, const passes::Group& group,
                                        const std::vector<std::optional<ir::View>>& views,
                                        const std::vector<Joined>& joined = {});

/// The partition with groups cut as `cut` says; boundaries tell why.
passes::Partition cut_groups(const ir::Graph& graph, passes::Partition partition,
                             const std::vector<std::optional<ir::View>>& views,
                             const std::function<Cut(const passes::Group&)>& cut);

}  // namespace sinter::codegen
