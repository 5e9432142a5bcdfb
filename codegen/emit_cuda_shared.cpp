// Rows in shared memory, of the CUDA dialect. A block has a row, or several blocks have a part each:
// `count` elements from the element `start` of the row on. The value v3 of these is in the array s3, brought
// by bulk copies or stored by the walk that first has it; each thread reads back only what it has stored
// itself.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/batch.h"
#include "codegen/emit_cuda.h"
#include "codegen/team.h"
#include "ir/base/check.h"

namespace sinter::codegen {

bool CudaEmitter::is_shared(int v) const {
  return std::ranges::any_of(schedule_.crossings, [&](const Crossing& c) {
    return shared_rows_ && c.value == v && c.residence == Residence::shared;
  });
}

bool CudaEmitter::is_bulk(int v) const {
  return std::ranges::find(schedule_.bulk_loads, v) != schedule_.bulk_loads.end();
}

int CudaEmitter::shared_access(int v) const {
  constexpr int widest = 16;  // bytes
  return std::min(vector_, widest / size_of(value(v).dtype));
}

/// Whether a row's first vector lies in shared memory where it lies in a line of global memory: `pad`
/// elements after the line's begin. A block with a row's begin has `skip` places for these.
bool CudaEmitter::lies_in_lines() const {
  return shared_rows_ && by_.off_lines.has_value();
}

/// Whether a block's places are not those of the row, but begin at its element `start`.
bool CudaEmitter::has_start() const {
  return sharers_ > 1 || lies_in_lines();
}

void CudaEmitter::place_in_line() {
  lines_.add(fmt::format("const int pad = (int)(({}{}) & {});", body_.affine(*by_.off_lines, "row"),
                         schedule_.skewed ? " + lead" : "", vectors_of_line * vector_ - 1));
}

/// Which row, and what part of it.
void CudaEmitter::place_block(KernelSource& source, const Staging& staging) {
  if (cluster_ > 1) {
    lines_.add("cluster_arrive();");
    lines_.add(fmt::format("const index u = (index)(blockIdx.x / {}u);", cluster_));
    lines_.add("const int rank = cluster_rank();");
    source.cluster = cluster_;
  } else if (sharers_ > 1) {
    take_piece(source, staging);
  } else {
    lines_.add(fmt::format("const index u = {};", block_number(schedule_)));
  }
  lines_.add("const int t = (int)threadIdx.x;");
  place_row();
  const std::string end = (lies_in_lines() ? "pad + " : "") + walk_end_;
  if (sharers_ > 1) {
    const std::string n_part = body_.length(part_in_block(), "n_part");
    lines_.add(fmt::format("const index before = (index)rank * {};", n_part));
    lines_.add(fmt::format("const int count = (int)({0} - before < {1} ? {0} - before : {1});", end, n_part));
    lines_.add(fmt::format("const index start = before{}{};", schedule_.skewed ? " + lead" : "",
                           lies_in_lines() ? " - pad" : ""));
    source.units = source.units * ir::Dim(sharers_);
  } else {
    lines_.add(fmt::format("const int count = (int)({});", end));
    if (lies_in_lines())
      lines_.add(fmt::format("const index start = {} - pad;", schedule_.skewed ? "lead" : "0"));
  }
  if (lies_in_lines())
    lines_.add(fmt::format("const int skip = {};", sharers_ > 1 ? "rank == 0 ? pad : 0" : "pad"));
  declare_shared(source);
  start_copies();
}

std::int64_t CudaEmitter::part_in_block() const {
  return part_of_block(places_in_lines(by_), sharers_);
}

/// One array after the other, each at a multiple of 128 bytes.
void CudaEmitter::declare_shared(KernelSource& source) {
  constexpr std::int64_t alignment = 128;
  const std::int64_t part = part_in_block();
  std::int64_t at = 0;
  for (const Crossing& c : schedule_.crossings) {
    if (!is_shared(c.value)) continue;
    const std::string type = stored_type_name(value(c.value).dtype);
    const std::string offset =
        at == 0 ? "" : fmt::format("(int){}", body_.length(at, fmt::format("at{}", c.value)));
    lines_.add(fmt::format("{0}* const s{1} = dynamic_shared<{0}>({2});", type, c.value, offset));
    at += (part * size_of(value(c.value).dtype) + alignment - 1) / alignment * alignment;
  }
  source.shared_bytes = static_cast<int>(at);
}

/// One thread starts all copies; each has its barrier.
void CudaEmitter::start_copies() {
  if (schedule_.bulk_loads.empty()) return;
  for (int v : schedule_.bulk_loads) lines_.add(fmt::format("__shared__ bulk_barrier arrived{};", v));
  lines_.open("if (t == 0) {");
  const std::string skip = lies_in_lines() ? " + skip" : "",
                    copied = lies_in_lines() ? "(count - skip)" : "count";
  lines_.add(fmt::format("const index first = {}{};", has_start() ? "start" : "0", skip));
  body_.decode("first", reduced_axes_);
  for (int v : schedule_.bulk_loads) {
    const KernelValue& x = value(v);
    lines_.add(fmt::format("bulk_init(&arrived{});", v));
    lines_.add(fmt::format("bulk_load{6}(s{0}{4}, {1} + {2}, (uint32){5} * {3}u, &arrived{0});", v,
                           body_.buffer(x.buffer), body_.affine(x.address, fmt::format("v{}", v)),
                           size_of(x.dtype), skip, copied, copies_like(schedule_)));
  }
  fetch_ahead();
  lines_.close();
  lines_.add("sync_block();");
}

void CudaEmitter::fetch_ahead() {
  if (schedule_.rows_ahead == 0) return;
  lines_.add(fmt::format("const index later = u + {};", body_.length(schedule_.rows_ahead, "n_ahead")));
  lines_.open(fmt::format("if (later < {}) {{", body_.length(k_.rows(), "n_rows")));
  body_.decode("later", kept_axes_);
  for (int v : schedule_.bulk_loads) {
    const KernelValue& x = value(v);
    std::string place = body_.affine(x.address, fmt::format("v{}", v));
    // The later row's vectors may begin a few elements further on.
    if (schedule_.skewed) place = fmt::format("({0}) / {1} * {1}", place, load_access(v));
    lines_.add(fmt::format("bulk_prefetch{}({} + {}, (uint32){} * {}u);", copies_like(schedule_),
                           body_.buffer(x.buffer), place, lies_in_lines() ? "(count - skip)" : "count",
                           size_of(x.dtype)));
  }
  lines_.close();
}

/// Asks for what the thread's first vectors need of what all rows share, before the row has come.
void CudaEmitter::load_first(const Staging& staging) {
  const auto is_read_once = [&](int v) {  // what several walks read would have to start anew for each
    return std::ranges::count_if(staging.walks, [&](const Walk& w) {
             return std::ranges::find(w.values, v) != w.values.end();
           }) == 1;
  };
  Walk loads;
  for (const Walk& w : staging.walks)
    for (int v : w.values)
      if (!w.continues && load_access(v) != 0 && !is_bulk(v) && is_same_for_rows(k_, v) && is_read_once(v))
        loads.values.push_back(v);
  for (int v : loads.values)
    lines_.add(fmt::format("vec<{}, {}> x{}[{}];", stored_type_name(value(v).dtype), vector_, v, chunks_));
  lines_.add("#pragma unroll");
  lines_.open(fmt::format("for (int c = 0; c < {}; ++c) {{", chunks_));
  load_ahead_at(loads, fmt::format("({} * c + t) * {}", team_, vector_));
  lines_.close();
  ahead_ = loads.values;
}

/// The same of the vectors after those at f, in whose places they go.
void CudaEmitter::load_next(const Walk& w) {
  Walk loads;
  std::ranges::copy_if(w.values, std::back_inserter(loads.values), [&](int v) { return is_ahead(v); });
  if (!loads.values.empty()) load_ahead_at(loads, fmt::format("f + {}", team_ * chunks_ * vector_));
}

void CudaEmitter::load_ahead_at(const Walk& loads, const std::string& place) {
  lines_.add(fmt::format("const int next = {};", place));
  lines_.open(fmt::format("if ({}next < count) {{", lies_in_lines() ? "next >= skip && " : ""));
  lines_.add("const int f = next;");
  place_shared_element();
  load_vectors(loads, "[c]");
  lines_.close();
}

bool CudaEmitter::is_ahead(int v) const {
  return std::ranges::find(ahead_, v) != ahead_.end();
}

void CudaEmitter::place_shared_element() {
  if (has_start()) lines_.add("const index e = start + f;");
  body_.decode(has_start() ? "e" : "f", reduced_axes_);
}

void CudaEmitter::restore_shared(const Walk& w) {
  if (!shared_rows_ || at_edge_) return;
  const auto type = [&](int v) {
    return fmt::format("vec<{}, {}>", stored_type_name(value(v).dtype), vector_);
  };
  const auto restore = [&](int v) {
    lines_.add(fmt::format("const {} {} = load_vec<{}, {}>(s{} + f);", type(v), vector_of(w, v, ""),
                           shared_access(v), vector_, v));
  };
  for (int v : w.values)
    if (is_bulk(v)) restore(v);
  for (int v : w.restored)
    if (is_shared(v)) restore(v);
  for (int v : w.kept)
    if (is_shared(v) && !is_bulk(v) && load_access(v) == 0) lines_.add(fmt::format("{} r{};", type(v), v));
}

void CudaEmitter::save_shared(const Walk& w, const std::string& at) {
  if (at_edge_) return;
  for (int v : w.kept)
    if (is_shared(v) && !is_bulk(v))
      lines_.add(fmt::format("store_vec<{}>(s{} + f, {});", shared_access(v), v, vector_of(w, v, at)));
}

void CudaEmitter::print_shared_walk(const Walk& w, const Walk* more) {
  std::vector<const Walk*> walks{&w};
  if (more != nullptr) walks.push_back(more);
  bool direct = false;
  std::vector<int> arriving;
  for (const Walk* each : walks)
    for (int v : each->values) {
      direct = direct || (!is_bulk(v) && load_access(v) != 0);
      if (!is_bulk(v) || std::ranges::find(awaited_, v) != awaited_.end()) continue;
      awaited_.push_back(v);
      arriving.push_back(v);
    }
  for (int v : w.folds) declare_fold(v, "fold");
  for (int v : w.folds)
    if (!followers(v).empty()) declare_rescaling(v);
  load_edge(walks);
  for (int v : arriving) lines_.add(fmt::format("bulk_wait(&arrived{}, 0);", v));
  declare_divisors(w);
  const auto each = [&] {
    for (int v : w.folds) accumulate(v, running(v), place_in_row());
  };
  if (direct || more != nullptr) {
    // Several vectors at once: their loads keep the memory busy, and sums are rescaled once for all of them.
    lines_.open(fmt::format("for (int begin = 0; begin < count; begin += {}) {{", team_ * chunks_ * vector_));
    for (int v : w.folds) {
      if (has_mean(v))
        declare_fold(v, "part");
      else if (!followers(v).empty())
        lines_.add(fmt::format("const {0} before{1} = fold{1};", type_name(folded(v)), v));
    }
    for (const Walk* one : walks) declare_kept(*one, false);
    load_chunk(walks);
    open_chunk();
    visit(w, "[c]", each);
    lines_.close();
    load_next(w);
    lines_.close();
    visit_edge(w, each, "begin == 0");
    if (more != nullptr) print_continued(*more);
    for (int v : w.folds)
      if (has_mean(v)) merge(v, "fold", "part");
  } else {
    lines_.add("#pragma unroll 1");
    const std::string own = vector_ > 1 ? fmt::format("t * {}", vector_) : "t";
    const std::string first =
        lies_in_lines() ? fmt::format("{0} < skip ? {0} + {1} : {0}", own, team_ * vector_) : own;
    lines_.open(fmt::format("for (int f = {}; f < count; f += {}) {{", first, team_ * vector_));
    place_shared_element();
    visit(w, "", each);
  }
  lines_.close();
  if (!direct && more == nullptr) visit_edge(w, each);
  exchange(w.folds);
}

}  // namespace sinter::codegen
