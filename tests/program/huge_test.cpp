// More elements than 32 bits count, all of which are computed: not for the simulator of CUDA, which has tests
// of its own for that.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("more than 2^31 elements of an expanded input are summed") {
  const std::int64_t n = (std::int64_t{1} << 31) + 8;
  const ir::Array one = vector_of(int8, {3});
  runtime::TensorView x = view_of(one);
  x.shape = {n};
  x.strides = {0};
  runtime::ProgramOptions options = program_options();
  options.layouts = {{{0}, 1}};
  const auto program = runtime::Program::build(
      ir::parse(fmt::format("graph @large(%x: int8[{}]) {{\n  return sum(%x), any(greater(%x, 2))\n}}\n", n)),
      options);
  const std::vector<runtime::TensorView> got = program->run(std::vector{x});
  CHECK(array_of(got[0]).at(0).whole() == 3 * n);
  CHECK(array_of(got[1]).at(0).whole() == 1);
}
