#include "frontend/build.h"

#include "frontend/dot.h"
#include "ir/base/dump.h"

namespace sinter::frontend {

std::shared_ptr<const runtime::Program> build(ir::Graph captured, runtime::ProgramOptions options) {
  const std::string prefix = options.dump_prefix = new_dump_prefix(captured.name());
  const char* const extension = options.target.backend == codegen::Backend::cpu ? ".cpp" : ".cu";
  auto program = runtime::Program::build(std::move(captured), std::move(options));
  if (prefix.empty()) return program;
  write_dump(prefix + "_captured", ".dot", dot(program->captured()));
  write_dump(prefix + "_fused", ".dot",
             dot(program->optimized(), program->partition(), program->summaries()));
  write_dump(prefix + "_source", extension, program->source());
  return program;
}

}  // namespace sinter::frontend
