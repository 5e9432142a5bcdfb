// A kernel with reductions as a sequence of walks over its rows: each walk folds the reductions that depend
// only on earlier ones, and the last one stores. What is costly and needed by several walks is kept, the rest
// is computed anew from loads, which the cache serves.
#pragma once

#include <functional>
#include <vector>

#include "codegen/kernel.h"

namespace sinter::codegen {

struct Walk {
  /// It goes over every stretch of the row right after the walk before, whose folds so far stand for their
  /// results: its folds are rescaled as those change. Nothing that it computes from them lasts.
  bool continues = false;
  std::vector<int> row_values;  // computed once per row before the walk
  std::vector<int> values;      // computed at each element, in order
  std::vector<int> kept;        // of those, the ones saved for later walks
  std::vector<int> restored;    // saved by earlier walks, read here
  std::vector<int> folds;       // reductions that the walk folds
  std::vector<int> across;      // reductions across rows that the walk's elements go into
  std::vector<int> stores;      // stores made at each element
};

struct Staging {
  std::vector<Walk> walks;
  std::vector<int> row_values;  // after the last walk
  std::vector<int> row_stores;
  std::vector<int> part_stores;  // of what is folded across rows
};

/// `keep` says which values are kept where several walks need them; `joined`, which reductions are folded
/// along with their leaders (KernelValue::join).
Staging stage(const Kernel& kernel, const std::function<bool(int value)>& keep,
              const std::vector<int>& joined = {});

/// The walks but for those that continue others, where nothing is kept.
std::vector<Walk> separate_walks(const Kernel& kernel, const std::vector<int>& joined);

/// The reductions that can be folded along with others; those that add up squared distances from a mean only
/// if asked for, as their states take more to fold.
std::vector<int> joinable(const Kernel& kernel, bool deviations = false);

/// Instructions that one value costs at each element; loads and index arithmetic count nothing.
int flops(const KernelValue& value);

}  // namespace sinter::codegen
