// Every dtype in rows and columns of lengths that schedules tell apart, of numbers of which every result is
// exact.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

void check_rows(DType t) {
  for (std::int64_t columns : {8, 64, 104, 1024, 4096, 10000})
    for (std::int64_t rows : {3, 70}) {
      if (rows == 70 && columns > 1024) continue;
      const std::string text = fmt::format(
          "graph @rows(%x: {}[{}, {}]) {{\n  %m = max(%x, axes=[1], keepdims=true)\n  %d = equal(%x, %m)\n"
          "  return %d, where(%d, %x, %m), min(%x, axes=[1]), argmax(%x, axes=[1]), any(%x, axes=[1]), "
          "sum(cast(%d, dtype=int64), axes=[1])\n}}\n",
          name(t), rows, columns);
      INFO(text);
      CHECK(off_exact(ir::parse(text), {whole_numbers(t, {rows, columns})}) == "");
    }
}

void check_columns(DType t) {
  for (std::int64_t columns : {8, 40, 64, 100, 1024})
    for (std::int64_t rows : {5, 65}) {
      const std::string text = fmt::format(
          "graph @columns(%x: {}[{}, {}]) {{\n  %m = max(%x, axes=[0])\n  return %m, equal(%x, %m), "
          "argmin(%x, "
          "axes=[0]), all(%x, axes=[0])\n}}\n",
          name(t), rows, columns);
      INFO(text);
      CHECK(off_exact(ir::parse(text), {whole_numbers(t, {rows, columns})}) == "");
    }
}

}  // namespace

TEST_CASE("rows of every dtype") {
  for (DType t : all_dtypes) check_rows(t);
}
TEST_CASE("columns of every dtype") {
  for (DType t : all_dtypes) check_columns(t);
}
