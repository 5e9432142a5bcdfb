// Folds across rows in the CUDA dialect. A team of threads walks over row after row; for each place of its
// part of a row a thread carries along, in registers, what it folds across the rows at that place. At the
// end, and now and then before, this goes into the team's part of the result, which the next kernel folds
// further. What is the same for all rows is loaded before, and what comes with each row while earlier ones
// are in work.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/device.h"
#include "codegen/emit_cuda.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {
constexpr int rows_of_level = 64;  // so many terms are added before their sum joins others
}  // namespace

bool CudaEmitter::is_held(int v) const {
  return parts_.is_constant() && parts_.value() > 0 && load_access(v) != 0 && is_same_for_rows(k_, v);
}

bool CudaEmitter::is_read_ahead(int v) const {
  const KernelValue& x = value(v);
  return x.kind == KernelValue::Kind::load && x.guard < 0 && rows_ == 1 && parts_.value() > 0 &&
         std::ranges::all_of(x.address.terms, [&](const Term& t) {
           return k_.atoms[t.atom].kind == Atom::Kind::axis &&
                  !k_.axes[static_cast<std::size_t>(t.atom)].reduced;
         });
}

void CudaEmitter::open_rows(KernelSource& source, const Staging& staging) {
  // Each team writes a part, and only teams that have a row do.
  const ir::Dim rows = k_.rows();
  SINTER_ASSERT(parts_.value() % rows_ == 0 &&
                    (!rows.is_constant() || parts_.value() < rows.value() + rows_ || parts_.value() == 0),
                "{} parts of {} rows, {} to a block", parts_.str(), rows.str(), rows_);
  declare_carried(staging);
  if (rows_ == 1) lines_.add("const int t = (int)threadIdx.x;");
  load_held(staging);
  body_.length(k_.rows(), "n_rows");
  body_.length(parts_, "n_parts");
  for (int v : staging.walks[0].row_values) {
    if (!is_read_ahead(v)) continue;
    lines_.add(fmt::format("{} next{};", type_name(value(v).dtype), v));
    lines_.open("{");
    lines_.add("const index first = (index)blockIdx.x;");
    body_.decode("first", kept_axes_);
    lines_.add(fmt::format("next{} = {};", v, body_.load(v)));
    lines_.close();
  }
  fetch_rows(source);
  lines_.add("uint32 rows_done = 0;");
  lines_.open(
      fmt::format("for (index first_row = (index)blockIdx.x{}; first_row < n_rows; first_row += n_parts) {{",
                  rows_ > 1 ? fmt::format(" * {}", rows_) : ""));
  if (rows_ == 1)
    lines_.add("const index u = first_row;");
  else
    place_thread("first_row");
}

/// Nothing folded yet.
void CudaEmitter::declare_carried(const Staging& staging) {
  for (int s : staging.part_stores) {
    const int v = k_.stores[static_cast<std::size_t>(s)].value;
    lines_.add(fmt::format("vec<{}, {}> across{}[{}];", stored_type_name(folded(v)), vector_, v, chunks_));
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int c = 0; c < {}; ++c) {{", chunks_));
    lines_.add("#pragma unroll");
    lines_.add(
        fmt::format("for (int k = 0; k < {}; ++k) across{}[c].at[k] = {};", vector_, v, body_.identity(v)));
    lines_.close();
  }
}

void CudaEmitter::load_held(const Staging& staging) {
  std::vector<int> held;
  for (const Walk& w : staging.walks)
    for (int v : w.values)
      if (is_held(v) && std::ranges::find(held, v) == held.end()) held.push_back(v);
  if (held.empty()) return;
  for (int v : held)
    lines_.add(fmt::format("vec<{}, {}> x{}[{}];", stored_type_name(value(v).dtype), vector_, v, chunks_));
  if (rows_ > 1) lines_.open("{");
  if (rows_ > 1) lines_.add(fmt::format("const int t = (int)threadIdx.x % {};", team_));
  open_chunk();
  for (int v : held) {
    lines_.add(
        fmt::format("x{}[c] = {};", v, load_of(schedule_, load_access(v), vector_, body_.place_of(v))));
  }
  lines_.close();
  lines_.close();
  if (rows_ > 1) lines_.close();
}

/// Shared memory for some rows, and the first of them on their way.
void CudaEmitter::fetch_rows(KernelSource& source) {
  constexpr std::int64_t alignment = 128;
  if (schedule_.bulk_loads.empty()) return;
  std::int64_t at = 0;
  for (int v : schedule_.bulk_loads) {
    const std::string type = stored_type_name(value(v).dtype);
    const std::string offset =
        at == 0 ? "" : fmt::format("(int){}", body_.length(at, fmt::format("at{}", v)));
    lines_.add(fmt::format("{0}* const rows{1} = dynamic_shared<{0}>({2});", type, v, offset));
    lines_.add(fmt::format("__shared__ bulk_barrier arrived{}[{}];", v, schedule_.rows_at_once));
    at += (schedule_.rows_at_once * places_of_copy(k_, v) * size_of(value(v).dtype) + alignment - 1) /
          alignment * alignment;
  }
  source.shared_bytes = static_cast<int>(at);
  lines_.open("const auto fetch = [&](index row, int slot) {");
  body_.decode("row", kept_axes_);
  for (int v : schedule_.bulk_loads) fetch_row(v);
  lines_.close("};");
  lines_.open("if (t == 0) {");
  lines_.add("#pragma unroll 1");
  lines_.open(fmt::format("for (int ahead = 0; ahead < {}; ++ahead) {{", schedule_.rows_at_once));
  for (int v : schedule_.bulk_loads) lines_.add(fmt::format("bulk_init(&arrived{}[ahead]);", v));
  lines_.add("const index row = (index)blockIdx.x + ahead * n_parts;");
  lines_.add("if (row < n_rows) fetch(row, ahead);");
  lines_.close();
  lines_.close();
  lines_.add("sync_block();");
  lines_.add("int slot = 0;");
  lines_.add("uint32 parity = 0;");
}

/// Copies a row of v. One that begins and ends anywhere comes with the rest of the 16 bytes in which it does.
/// What of the last one lies where such a copy would leave the tensor, this thread copies.
void CudaEmitter::fetch_row(int v) {
  const KernelValue& x = value(v);
  const std::string buffer = body_.buffer(x.buffer), begin = first_of_row(v), to = slot_of(v);
  const auto copy = [&](const std::string& from, const std::string& count) {
    lines_.add(fmt::format("bulk_load{}({}, {} + {}, (uint32){} * {}u, &arrived{}[slot]);",
                           copies_like(schedule_), to, buffer, from, count, size_of(x.dtype), v));
  };
  if (copies_in_bulk(k_, v, {})) return copy(begin, row_length_);
  const std::string step = std::to_string(copy_step(v));
  ir::Dim end = x.address.constant + ir::Dim(1);
  for (const Term& t : x.address.terms)
    end = end + (k_.axes[static_cast<std::size_t>(t.atom)].extent + ir::Dim(-1)) * t.factor;
  lines_.open("{");
  lines_.add(fmt::format("const index begin = {}, end = begin + {}, from = begin / {} * {};", begin,
                         row_length_, step, step));
  lines_.add(
      fmt::format("const index whole = {} / {} * {}, upto = end < whole ? (end - 1) / {} * {} + {} : whole;",
                  body_.length(end, fmt::format("end{}", v)), step, step, step, step, step));
  copy("from", "(upto - from)");
  lines_.add("#pragma unroll 1");
  lines_.add(fmt::format("for (index i = upto; i < end; ++i) ({})[i - from] = {}[i];", to, buffer));
  lines_.close();
}

/// Waits for the copies of the row at hand.
void CudaEmitter::await_row() {
  for (int v : schedule_.bulk_loads) {
    lines_.add(fmt::format("bulk_wait(&arrived{}[slot], parity);", v));
    const std::string place = copies_in_bulk(k_, v, {})
                                  ? ""
                                  : fmt::format(" + (int)(({}) & {})", first_of_row(v), copy_step(v) - 1);
    lines_.add(
        fmt::format("const {}* const row{} = {}{};", stored_type_name(value(v).dtype), v, slot_of(v), place));
  }
}

/// Where the copy of a row goes.
std::string CudaEmitter::slot_of(int v) {
  const std::int64_t places = places_of_copy(k_, v);
  return fmt::format(
      "rows{} + slot * {}", v,
      k_.row_length().is(places) ? row_length_ : "(int)" + body_.length(places, fmt::format("places{}", v)));
}

std::string CudaEmitter::first_of_row(int v) {
  return body_.affine(begin_of_row(k_, value(v).address), fmt::format("v{}", v));
}

int CudaEmitter::copy_step(int v) const {
  return bulk_copy_bytes / size_of(value(v).dtype);
}

void CudaEmitter::declare_row_value(int v) {
  if (parts_.value() == 0 || !is_read_ahead(v)) return body_.declare(v);
  lines_.add(fmt::format("const {} v{} = next{};", type_name(value(v).dtype), v, v));
  lines_.open("if (const index next_row = u + n_parts; next_row < n_rows) {");
  body_.decode("next_row", kept_axes_);
  lines_.add(fmt::format("next{} = {};", v, body_.load(v)));
  lines_.close();
}

void CudaEmitter::fold_across(const Walk& w) {
  for (int v : w.across) {
    const std::string running = fmt::format("across{}[c].at[{}]", v, vector_ > 1 ? "k" : "0");
    lines_.add(fmt::format("{}{} = {};", rows_ > 1 ? "if (live) " : "", running,
                           BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v),
                                              {BodyPrinter::from_stored(running, folded(v)),
                                               fmt::format("v{}", value(v).operands[0])})));
  }
}

void CudaEmitter::close_rows(const Staging& staging) {
  lines_.add("++rows_done;");
  lines_.open(fmt::format("if (rows_done % {} == 0 || first_row + n_parts >= n_rows) {{", rows_of_level));
  store_parts(staging);
  lines_.close();
  // The next row's exchange, and the next copy, write where slower warps may still read this row's.
  if (team_ > warp_threads) lines_.add("sync_block();");
  if (!schedule_.bulk_loads.empty()) {
    lines_.add(fmt::format("const index later = first_row + {} * n_parts;", schedule_.rows_at_once));
    lines_.add("if (t == 0 && later < n_rows) fetch(later, slot);");
    lines_.open(fmt::format("if (++slot == {}) {{", schedule_.rows_at_once));
    lines_.add("slot = 0;");
    lines_.add("parity ^= 1u;");
    lines_.close();
  }
  lines_.close();
}

/// What was carried along joins what the team's part of the result has already, and starts anew.
void CudaEmitter::store_parts(const Staging& staging) {
  lines_.add(fmt::format(
      "const index part = {} * {};",
      rows_ > 1 ? fmt::format("((index)blockIdx.x * {} + (index)(threadIdx.x / {}))", rows_, team_)
                : "(index)blockIdx.x",
      row_length_));
  open_chunk();
  for (int s : staging.part_stores) {
    const KernelStore& store = k_.stores[static_cast<std::size_t>(s)];
    const int v = store.value;
    const std::string type = stored_type_name(folded(v)), running = fmt::format("across{}[c].at[k]", v);
    const int access = std::min(vector_, describe(target_).vector_bytes / size_of(folded(v)));
    lines_.add(fmt::format("{}* const to{} = {} + part + {};", type, v, body_.buffer(store.buffer),
                           body_.affine(store.address, fmt::format("w{}", s))));
    lines_.open(fmt::format("if (rows_done > {}) {{", rows_of_level));
    lines_.add(
        fmt::format("const vec<{}, {}> before = load_vec<{}, {}>(to{});", type, vector_, access, vector_, v));
    lines_.add("#pragma unroll");
    lines_.add(fmt::format("for (int k = 0; k < {}; ++k) {} = {};", vector_, running,
                           BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v),
                                              {BodyPrinter::from_stored("before.at[k]", folded(v)),
                                               BodyPrinter::from_stored(running, folded(v))})));
    lines_.close();
    lines_.add(fmt::format("store_vec<{}>(to{}, across{}[c]);", access, v, v));
    lines_.add("#pragma unroll");
    lines_.add(fmt::format("for (int k = 0; k < {}; ++k) {} = {};", vector_, running, body_.identity(v)));
  }
  lines_.close();
  lines_.close();
}

}  // namespace sinter::codegen
