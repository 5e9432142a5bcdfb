#include "codegen/emit_cuda.h"

#include <algorithm>

#include "codegen/access.h"
#include "codegen/batch.h"
#include "codegen/device.h"
#include "codegen/prelude.h"
#include "ir/base/check.h"

namespace sinter::codegen {

using Kind = KernelValue::Kind;

CudaEmitter::CudaEmitter(const Kernel& k, const Schedule& s, const Target& target)
    : k_(k), schedule_(s), target_(target), body_(k, lines_), vector_(s.vector), in_row_(k.varies_in_row()) {
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    (k.axes[i].reduced ? reduced_axes_ : kept_axes_).push_back(static_cast<int>(i));
  lanes_ = s.columns ? 1 : 0;
  const std::vector<int>& walked = k.has_reduction() && !s.columns ? reduced_axes_ : kept_axes_;
  if (!walked.empty()) inner_ = walked.back();
  if (inner_ >= 0) along_inner_ = k.varies_along({inner_});
  if (inner_ >= 0 && k.has_reduction() && !s.columns) by_ = row_vectors_of(k, inner_, vector_, s.skewed);
}

KernelSource CudaEmitter::run() {
  KernelSource source;
  lines_.indent();
  if (lanes_ > 0)
    print_columns(source);
  else if (k_.has_reduction())
    print_rows(source);
  else if (!schedule_.tiles.empty() || schedule_.lead >= 0)
    print_tiles(source);
  else
    print_elements(source);
  finish(source);
  return source;
}

void CudaEmitter::finish(KernelSource& source) {
  source.name = k_.name;
  source.target = target_;
  source.schedule = schedule_;
  source.index_bytes = schedule_.wide_index ? 8 : 4;
  source.param_bytes = body_.lay_out(source.index_bytes);
  source.params = body_.params();
  source.header = header_comment(k_, schedule_);
  std::string text =
      fmt::format("namespace sinter {{\n\ntypedef {} index;\n\n", schedule_.wide_index ? "int64" : "int32");
  const bool shared_launch = schedule_.batch > 1;
  text += body_.param_struct(shared_launch ? "Instance" : "Params") + "\n";
  if (shared_launch) text += batch_struct(schedule_.batch) + "\n";
  std::string bounds = std::to_string(schedule_.block_threads);
  if (schedule_.least_blocks > 1) {
    // With ONE_BLOCK defined the compiler is free to use more registers.
    text +=
        fmt::format("#ifdef ONE_BLOCK\n#define LEAST_BLOCKS 1\n#else\n#define LEAST_BLOCKS {}\n#endif\n\n",
                    schedule_.least_blocks);
    bounds += ", LEAST_BLOCKS";
  }
  // A thread finds its instance by a number: where it lies, not in a copy of all of them.
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({} {}) {{\n", bounds, k_.name,
                      shared_launch ? "const __grid_constant__ Params" : "const Params",
                      shared_launch ? "batch" : "p");
  source.early = describe(target_).early_starts;
  if (source.early) text += "  start_early();\n";
  if (shared_launch) text += batch_locals(schedule_);
  for (const std::string& local : body_.param_locals()) text += "  " + local + "\n";
  const std::string body = lines_.take();
  // Once, so that loads which some threads have not need no branch to make it.
  if (body.find(", policy)") != body.npos) text += "  const uint64 policy = outlasting();\n";
  SINTER_ASSERT(!shared_launch || body.find("blockIdx") == body.npos,
                "{}: its blocks do not work for themselves, and share a launch", k_.name);
  text += body + "}\n\n}  // namespace sinter\n";
  source.text = prelude(text, Backend::cuda) + "\n" + text;
}

void CudaEmitter::print_elements(KernelSource& source) {
  for (const std::vector<Factor>& factors : schedule_.axes)
    for (const Factor& f : factors)
      if (f.level == Level::loop) chunks_ = f.size;
  const std::int64_t per_block = std::int64_t{chunks_} * vector_ * schedule_.block_threads;
  const ir::Dim total = k_.rows();
  source.units = pieces_of(total, per_block);
  source.unit_elements = per_block;
  Walk all;
  for (std::size_t v = 0; v < k_.values.size(); ++v) all.values.push_back(static_cast<int>(v));
  for (std::size_t s = 0; s < k_.stores.size(); ++s) all.stores.push_back(static_cast<int>(s));
  if (chunks_ > 1) return print_chunks(all, body_.length(total, "n_all"));
  lines_.add(fmt::format("const index e = ({} * {} + (index)threadIdx.x){};", block_number(schedule_),
                         schedule_.block_threads, vector_ > 1 ? fmt::format(" * {}", vector_) : ""));
  lines_.add(fmt::format("if (e >= {}) return;", body_.length(total, "n_all")));
  body_.decode("e", kept_axes_);
  const std::vector<int> declared = load_vectors(all, "");
  std::erase_if(all.values, [&](int v) { return std::ranges::find(declared, v) != declared.end(); });
  visit(all, "", [] {});
}

/// Several vectors of a thread, a block apart: all are read before the first is used. Beyond the last one a
/// thread reads that once more and stores nothing, so that no branch stands between the loads.
void CudaEmitter::print_chunks(Walk all, const std::string& total) {
  if_live_ = "if (live) ";
  const auto open = [&] {
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int c = 0; c < {}; ++c) {{", chunks_));
    lines_.add(fmt::format("const index place = (({} * {} + c) * {} + (index)threadIdx.x) * {};",
                           block_number(schedule_), chunks_, schedule_.block_threads, vector_));
    lines_.add(fmt::format("const bool live = place < {};", total));
    lines_.add(fmt::format("const index e = live ? place : {} - {};", total, vector_));
    body_.decode("e", kept_axes_);
  };
  for (int v : all.values)
    if (load_access(v) != 0)
      lines_.add(fmt::format("vec<{}, {}> x{}[{}];", stored_type_name(value(v).dtype), vector_, v, chunks_));
  open();
  const std::vector<int> declared = load_vectors(all, "[c]");
  lines_.close();
  open();
  for (int v : declared) body_.declare(v);
  std::erase_if(all.values, [&](int v) { return std::ranges::find(declared, v) != declared.end(); });
  visit(all, "[c]", [] {});
  lines_.close();
}

int CudaEmitter::load_access(int v) const {
  const KernelValue& x = value(v);
  const bool walks_over_rows = !parts_.is(0);  // and holds what is the same for all
  if ((vector_ == 1 && !walks_over_rows) || x.kind != Kind::load) return 0;
  // A column's folds are at hand for one element at a time.
  if (lanes_ > 0 && std::ranges::any_of(needed_by_load(k_, v),
                                        [&](int needed) { return value(needed).kind == Kind::reduce; }))
    return 0;
  return load_elements(k_, v, inner_, along_inner_, vector_, describe(target_).vector_bytes, by_.start());
}

int CudaEmitter::store_access(int number) const {
  const KernelStore& s = k_.stores[static_cast<std::size_t>(number)];
  if (vector_ == 1 || !is_dense_along(k_, s.address, inner_)) return 0;
  return access_elements(k_, s.buffer, s.address, inner_, vector_, describe(target_).vector_bytes,
                         by_.start());
}

std::string CudaEmitter::stored_type(int store) const {
  return stored_type_name(value(k_.stores[static_cast<std::size_t>(store)].value).dtype);
}

void CudaEmitter::store(int number, std::string_view condition) {
  const KernelStore& s = k_.stores[static_cast<std::size_t>(number)];
  lines_.add(
      fmt::format("{}{}[{}] = v{};", condition, body_.buffer(s.buffer), body_.store_index(number), s.value));
}

/// How many stores from that one on write neighbours in memory, so that one access can move several.
int CudaEmitter::neighbours_from(const std::vector<int>& stores, std::size_t first) const {
  const auto store = [&](std::size_t i) -> const KernelStore& {
    return k_.stores[static_cast<std::size_t>(stores[i])];
  };
  const KernelStore& a = store(first);
  int count = 1;
  for (std::size_t i = first + 1; i < stores.size(); ++i, ++count) {
    const KernelStore& b = store(i);
    if (b.buffer != a.buffer || b.address.terms != a.address.terms ||
        !(b.address.constant == a.address.constant + ir::Dim(count)))
      break;
  }
  const int access = access_elements(k_, a.buffer, a.address, -1, count, describe(target_).vector_bytes);
  return access > 1 ? count : 1;
}

void CudaEmitter::store_together(std::span<const int> stores) {
  const int first = stores[0];
  const KernelStore& s = k_.stores[static_cast<std::size_t>(first)];
  const int count = static_cast<int>(stores.size());
  lines_.add(fmt::format("vec<{}, {}> z{};", stored_type(first), count, first));
  for (int i = 0; i < count; ++i)
    lines_.add(fmt::format("z{}.at[{}] = v{};", first, i,
                           k_.stores[static_cast<std::size_t>(stores[static_cast<std::size_t>(i)])].value));
  const int access = access_elements(k_, s.buffer, s.address, -1, count, describe(target_).vector_bytes);
  lines_.add(fmt::format("{}store_vec<{}>({} + {}, z{});", if_live_, access, body_.buffer(s.buffer),
                         body_.store_index(first), first));
}

/// What guards and places need is the same for the whole vector; of a row's values it is at hand.
std::vector<int> CudaEmitter::load_vectors(const Walk& w, const std::string& at, bool late) {
  std::vector<int> declared;
  for (int v : w.values) {
    const int access = load_access(v);
    if (access == 0 || !is_read(v) || is_read_late(v) != late) continue;
    for (int needed : needed_by_load(k_, v)) {
      const bool at_hand = lanes_ == 0 && k_.has_reduction() && !in_row_[static_cast<std::size_t>(needed)];
      if (at_hand || std::ranges::find(declared, needed) != declared.end()) continue;
      body_.declare(needed);
      declared.push_back(needed);
    }
    const KernelValue& x = value(v);
    const std::string type = fmt::format("vec<{}, {}>", stored_type_name(x.dtype), vector_);
    const std::string place = body_.affine(x.address, fmt::format("v{}", v)), buffer = body_.buffer(x.buffer);
    const std::string vector =
        loads_shifted(v) ? fmt::format("{}<{}>({}, {})", loads_words(v) ? "load_words" : "load_shifted",
                                       vector_, buffer, place)
        : is_bulk(v)     ? fmt::format("load_vec<{}, {}>(row{} + f)", access, vector_, v)
                         : load_of(schedule_, access, vector_, fmt::format("{} + {}", buffer, place));
    lines_.add(fmt::format("{}x{}{} = {};", at.empty() ? "const " + type + " " : "", v, at,
                           x.guard < 0 ? vector : fmt::format("v{} ? {} : {}{{}}", x.guard, vector, type)));
  }
  return declared;
}

std::string CudaEmitter::vector_of(const Walk& w, int v, const std::string& at) const {
  const bool loaded = load_access(v) != 0,
             here = loaded && !is_bulk(v) && std::ranges::find(w.values, v) != w.values.end();
  return fmt::format("{}{}{}", loaded ? "x" : "r", v, (is_shared(v) && !here) || is_read_late(v) ? "" : at);
}

std::string CudaEmitter::element_of(const Walk& w, int v, const std::string& at) const {
  if (at_edge_) return fmt::format("edge{}", v);
  return fmt::format("{}.at[{}]", vector_of(w, v, at), vector_ > 1 ? "k" : "0");
}

void CudaEmitter::declare_element(const Walk& w, int v, const std::string& at) {
  const auto loaded = [&](int u) { return BodyPrinter::from_stored(element_of(w, u, at), value(u).dtype); };
  if (std::ranges::find(w.restored, v) != w.restored.end())
    return lines_.add(
        fmt::format("const {} v{} = {};", type_name(value(v).dtype), v,
                    load_access(v) != 0 || (is_shared(v) && !at_edge_) ? loaded(v) : element_of(w, v, at)));
  if (divides_row(v))
    return lines_.add(fmt::format("const f32 v{} = narrow_div(v{}, divisor{});", v, value(v).operands[0],
                                  value(v).operands[1]));
  body_.declare(v, [&](int load) {
    return load_access(load) != 0                ? loaded(load)
           : at_edge_ && is_loaded_at_edge(load) ? element_of(w, load, at)
                                                 : body_.load(load);
  });
}

void CudaEmitter::open_elements(std::string_view order) {
  if (inner_ >= 0) lines_.add(fmt::format("const index first = i{};", inner_));
  lines_.add("#pragma unroll");
  lines_.open(fmt::format("for (int {}) {{", order));
  if (inner_ >= 0) lines_.add(fmt::format("const index i{} = first + k;", inner_));
}

void CudaEmitter::visit(const Walk& w, const std::string& at, const std::function<void()>& each) {
  std::vector<int> wide;  // stores
  for (int s : w.stores)
    if (store_access(s) != 0) {
      wide.push_back(s);
      lines_.add(fmt::format("vec<{}, {}> y{};", stored_type(s), vector_, s));
    }
  restore_shared(w);
  std::vector<int> exact;  // quotients
  for (int v : w.values) {
    if (!divides_exactly(w, v)) continue;
    exact.push_back(v);
    lines_.add(fmt::format("vec<f32, {}> dividend{};", vector_, v));
    lines_.add(fmt::format("bool sure{} = exact{}.usable;", v, value(v).operands[1]));
  }
  const bool each_element = !at_edge_ && (vector_ > 1 || lanes_ > 0);
  if (each_element) open_elements(fmt::format("k = 0; k < {}; ++k", vector_));
  if (lanes_ > 0) name_column_values(w);
  for (int v : w.restored) declare_element(w, v, at);
  for (int v : w.values) {
    if (std::ranges::find(exact, v) == exact.end()) {
      declare_element(w, v, at);
      continue;
    }
    const int a = value(v).operands[0];
    lines_.add(fmt::format("dividend{}.at[k] = v{};", v, a));
    lines_.add(fmt::format("sure{0} = sure{0} & divides_exactly(v{1});", v, a));
    lines_.add(fmt::format("const f32 v{} = exact_div(v{}, exact{});", v, a, value(v).operands[1]));
  }
  for (int v : w.kept)
    if (load_access(v) == 0) lines_.add(fmt::format("{} = v{};", element_of(w, v, at), v));
  for (std::size_t i = 0, count = 1; i < w.stores.size(); i += count, count = 1) {
    const int s = w.stores[i];
    if (std::ranges::find(wide, s) != wide.end())
      lines_.add(fmt::format("y{}.at[k] = v{};", s, k_.stores[static_cast<std::size_t>(s)].value));
    else if (count = static_cast<std::size_t>(neighbours_from(w.stores, i)); count > 1)
      store_together(std::span(w.stores).subspan(i, count));
    else
      store(s, if_live_);
  }
  each();
  if (each_element) lines_.close();
  save_shared(w, at);
  for (int v : exact) {
    lines_.open(fmt::format("if (!sure{}) {{", v));
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int k = 0; k < {}; ++k) {{", vector_));
    for (int s : wide)
      if (k_.stores[static_cast<std::size_t>(s)].value == v)
        lines_.add(
            fmt::format("y{0}.at[k] = wide_div(dividend{1}.at[k], exact{2});", s, v, value(v).operands[1]));
    lines_.close();
    lines_.close();
  }
  for (int s : wide) {
    const KernelStore& st = k_.stores[static_cast<std::size_t>(s)];
    lines_.add(fmt::format("{}store_vec<{}>({} + {}, y{});", if_live_, store_access(s),
                           body_.buffer(st.buffer), body_.store_index(s), s));
  }
}

KernelSource emit_cuda(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  return CudaEmitter(kernel, schedule, target).run();
}

}  // namespace sinter::codegen
