// Every operation of the table on every dtype through NVRTC, in each numeric mode: the functions of the
// prelude that only CUDA has are compiled for old and new architectures without a GPU.
#include <fmt/format.h>

#include "ir/rewrite.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/kernel_report.h"
#include "runtime/program_impl.h"
#include "tests/catch.h"
#include "tests/support/every_op.h"

using namespace sinter;
using namespace sinter::testing;
using runtime::nvrtc;

namespace {

void check(const ir::Graph& graph, Numerics mode, const std::string& arch) {
  runtime::ProgramOptions options;
  options.numerics = mode;
  options.target = codegen::Target::cuda(arch);
  const auto program = runtime::Program::build(ir::without_dead_nodes(graph), options);
  for (const runtime::KernelReport& report : program->kernel_reports()) CHECK(report.resources);
}

/// Every mode once, each on another architecture: what differs between those is not what differs between
/// modes.
void check_everywhere(const ir::Graph& graph) {
  for (const auto& [arch, mode] :
       {std::pair("sm_75", Numerics::strict), std::pair("sm_90a", Numerics::standard),
        std::pair("sm_120", Numerics::fast)}) {
    INFO(arch);
    check(graph, mode, arch);
  }
}

void need_nvrtc() {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
}

}  // namespace

TEST_CASE("every elementwise operation of every dtype compiles for CUDA") {
  need_nvrtc();
  const DType dtype = GENERATE(from_range(std::begin(all_dtypes), std::end(all_dtypes)));
  INFO(name(dtype));
  const ir::Graph graph = every_elementwise_op(dtype, 4096);
  if (is_float(dtype) && dtype != f32)  // they take long
    check(graph, Numerics::standard, "sm_90a");
  else
    check_everywhere(graph);
}

TEST_CASE("every reduction of every dtype compiles for CUDA") {
  need_nvrtc();
  const DType dtype = GENERATE(from_range(std::begin(all_dtypes), std::end(all_dtypes)));
  INFO(name(dtype));
  for (const int axis : {0, 1}) check_everywhere(every_reduction(dtype, 512, 1024, axis));
}
