// Programs as the frontend makes them: with files that say what became of a graph, where SINTER_DUMP asks for
// them.
#pragma once

#include <memory>

#include "runtime/program.h"

namespace sinter::frontend {

/// As runtime::Program::build. Into the directory that SINTER_DUMP names go, under one prefix, the graph
/// after every pass, the captured and the fused graph as DOT, and the source of all kernels.
std::shared_ptr<const runtime::Program> build(ir::Graph captured, runtime::ProgramOptions options);

}  // namespace sinter::frontend
