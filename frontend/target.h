// Targets by their public names.
#pragma once

#include "codegen/target.h"
#include "sinter/program.h"

namespace sinter::frontend {

/// "cpu", or "sm_" with a compute capability; throws ValueError for anything else.
codegen::Target parse_target(const Target& target);

}  // namespace sinter::frontend
