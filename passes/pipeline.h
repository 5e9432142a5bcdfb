// The list of passes that every graph goes through before it is fused, and the driver that runs it.
//
// Passes carry only their own logic. The driver times each and notes "unchanged" where one did nothing
// (SINTER_LOG= graph), writes the text form after each that did something (SINTER_DUMP), verifies in between
// (builds of type Debug, SINTER_DEBUG_VERIFY), drops dead nodes, and leaves out what SINTER_DISABLE_PASSES
// names.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace sinter::passes {

struct NamedPass {
  std::string_view name;
  Pass run;
  std::string_view doc;
};

/// Every pass, in the order of its first run. The first and the last two run only for targets whose library
/// of products asks for them.
std::span<const NamedPass> all_passes();

/// What one run of a pass did.
struct PassRun {
  std::string_view name;
  bool changed;
  std::size_t nodes_before, nodes_after;
  double milliseconds;
};
using PassTrace = std::vector<PassRun>;

/// The graph made ready for the fuser: an equivalent one in the sense of the numeric mode (docs/numerics.md),
/// whose rounding is decided (passes/precision.h). Throws ValueError when SINTER_DISABLE_PASSES names an
/// unknown pass.
ir::Graph optimize(const ir::Graph& graph, const PassContext& context, PassTrace* trace = nullptr);

}  // namespace sinter::passes
