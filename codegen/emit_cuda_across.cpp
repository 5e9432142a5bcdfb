// Folds across rows in the CUDA dialect. A team of threads walks over row after row; for each place of its
// part of a row a thread carries along, in registers, what it folds across the rows at that place. At the
// end, and now and then before, this goes into the team's part of the result, which the next kernel folds
// further.
#include "codegen/emit_cuda.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {
constexpr int rows_of_level = 64;  // so many terms are added before their sum joins others
}  // namespace

void CudaEmitter::open_rows(const Staging& staging) {
  for (int s : staging.part_stores) {
    const int v = k_.stores[static_cast<std::size_t>(s)].value;
    lines_.add(fmt::format("vec<{}, {}> across{}[{}];", type_name(folded(v)), vector_, v, chunks_));
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int c = 0; c < {}; ++c) {{", chunks_));
    lines_.add("#pragma unroll");
    lines_.add(
        fmt::format("for (int k = 0; k < {}; ++k) across{}[c].at[k] = {};", vector_, v, body_.identity(v)));
    lines_.close();
  }
  lines_.add("uint32 rows_done = 0;");
  lines_.open(
      fmt::format("for (index first_row = (index)blockIdx.x * {}; first_row < {}; first_row += {}) {{", rows_,
                  body_.length(k_.rows(), "n_rows"), body_.length(parts_, "n_parts")));
  place_thread("first_row");
}

void CudaEmitter::fold_across(const Walk& w) {
  for (int v : w.across) {
    const std::string running = fmt::format("across{}[c].at[{}]", v, vector_ > 1 ? "k" : "0");
    lines_.add(fmt::format("{}{} = {};", rows_ > 1 ? "if (live) " : "", running,
                           BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v),
                                              {running, fmt::format("v{}", value(v).operands[0])})));
  }
}

void CudaEmitter::close_rows(const Staging& staging) {
  lines_.add("++rows_done;");
  lines_.open(fmt::format("if (rows_done % {} == 0 || first_row + n_parts >= n_rows) {{", rows_of_level));
  lines_.add(fmt::format(
      "const index part = {} * {};",
      rows_ > 1 ? fmt::format("((index)blockIdx.x * {} + (index)(threadIdx.x / {}))", rows_, team_)
                : "(index)blockIdx.x",
      row_length_));
  open_chunk();
  if (vector_ > 1) {
    lines_.add(fmt::format("const index first = i{};", inner_));
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int k = 0; k < {}; ++k) {{", vector_));
    lines_.add(fmt::format("const index i{} = first + k;", inner_));
  }
  for (int s : staging.part_stores) {
    const KernelStore& store = k_.stores[static_cast<std::size_t>(s)];
    const int v = store.value;
    const std::string running = fmt::format("across{}[c].at[{}]", v, vector_ > 1 ? "k" : "0");
    lines_.add(fmt::format("{}& so_far{} = {}[part + {}];", stored_type_name(folded(v)), v,
                           body_.buffer(store.buffer), body_.affine(store.address, fmt::format("w{}", s))));
    lines_.add(fmt::format(
        "if (rows_done > {}) {} = {};", rows_of_level, running,
        BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v),
                           {running, BodyPrinter::from_stored(fmt::format("so_far{}", v), folded(v))})));
    lines_.add(fmt::format("so_far{} = {};", v, running));
    lines_.add(fmt::format("{} = {};", running, body_.identity(v)));
  }
  if (vector_ > 1) lines_.close();
  lines_.close();
  lines_.close();
  lines_.close();
  // The next row's exchange writes where slower warps may still read this one's.
  if (team_ > warp_threads) lines_.add("sync_block();");
  lines_.close();
}

}  // namespace sinter::codegen
