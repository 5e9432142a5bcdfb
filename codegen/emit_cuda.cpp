// The CUDA C++ dialect. Pointwise kernels: one vector per thread and tensor. Rows: a block per row, whose
// threads walk it side by side; what a walk folds is exchanged by shuffles within warps, then through shared
// memory.
#include <algorithm>

#include "codegen/emit_body.h"
#include "codegen/prelude.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

class CudaEmitter {
 public:
  CudaEmitter(const Kernel& k, const Schedule& s, const Target& target)
      : k_(k), schedule_(s), target_(target), body_(k, lines_) {
    for (std::size_t i = 0; i < k.axes.size(); ++i)
      (k.axes[i].reduced ? reduced_ : kept_).push_back(static_cast<int>(i));
  }

  KernelSource run() {
    KernelSource source;
    lines_.indent();
    if (k_.has_reduction())
      print_rows(source);
    else
      print_elements(source);
    finish(source);
    return source;
  }

 private:
  const KernelValue& value(int v) const { return k_.values[static_cast<std::size_t>(v)]; }

  void finish(KernelSource& source) {
    source.name = k_.name;
    source.target = target_;
    source.schedule = schedule_;
    source.index_bytes = schedule_.wide_index ? 8 : 4;
    source.param_bytes = body_.lay_out(source.index_bytes);
    source.params = body_.params();
    source.header = header_comment(k_, schedule_);
    std::string text =
        fmt::format("namespace sinter {{\n\ntypedef {} index;\n\n", schedule_.wide_index ? "int64" : "int32");
    text += body_.param_struct() + "\n";
    text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(const Params p) {{\n",
                        schedule_.block_threads, k_.name);
    for (const std::string& local : body_.param_locals()) text += "  " + local + "\n";
    text += lines_.take() + "}\n\n}  // namespace sinter\n";
    source.text = prelude(text, Backend::cuda) + "\n" + text;
  }

  void store(int number) {
    const KernelStore& s = k_.stores[static_cast<std::size_t>(number)];
    lines_.add(
        fmt::format("{} = v{};", body_.element(s.buffer, s.address, fmt::format("w{}", number)), s.value));
  }

  bool is_wide(const Affine& address) const {
    return schedule_.vector > 1 && address.factor(kept_.back()).is(1);
  }

  void print_elements(KernelSource& source) {
    const int width = schedule_.vector;
    const std::int64_t per_block = static_cast<std::int64_t>(width) * schedule_.block_threads;
    const ir::Dim total = k_.rows();
    source.units = total.is_constant() ? ir::Dim((total.value() + per_block - 1) / per_block) : total;
    source.unit_elements = per_block;
    lines_.add(fmt::format("const index e = ((index)blockIdx.x * {} + (index)threadIdx.x) * {};",
                           schedule_.block_threads, width));
    lines_.add(fmt::format("if (e >= {}) return;", body_.length(total, "n_all")));
    if (width == 1) {
      body_.decode("e", kept_);
      for (std::size_t v = 0; v < k_.values.size(); ++v) body_.declare(static_cast<int>(v));
      for (std::size_t s = 0; s < k_.stores.size(); ++s) store(static_cast<int>(s));
      return;
    }
    print_vectors(width);
  }

  /// Wide loads, the arithmetic element by element, wide stores. Every thread's vector lies within one row.
  void print_vectors(int width) {
    const int inner = kept_.back();
    body_.decode("e", kept_);
    for (std::size_t v = 0; v < k_.values.size(); ++v) {
      const KernelValue& x = k_.values[v];
      if (x.kind != Kind::load || x.guard >= 0 || depends_on_value(x.address) || !is_wide(x.address))
        continue;
      const std::string type = fmt::format("vec<{}, {}>", stored_type_name(x.dtype), width);
      lines_.add(fmt::format("const {} x{} = *(const {}*)({} + {});", type, v, type, body_.buffer(x.buffer),
                             body_.affine(x.address, fmt::format("v{}", v))));
      wide_.push_back(static_cast<int>(v));
    }
    for (std::size_t s = 0; s < k_.stores.size(); ++s)
      if (is_wide(k_.stores[s].address))
        lines_.add(
            fmt::format("vec<{}, {}> y{};", stored_type_name(stored_type(static_cast<int>(s))), width, s));
    lines_.add(fmt::format("const index first = i{};", inner));
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int k = 0; k < {}; ++k) {{", width));
    lines_.add(fmt::format("const index i{} = first + k;", inner));
    for (std::size_t v = 0; v < k_.values.size(); ++v)
      body_.declare(static_cast<int>(v), [&](int load) {
        if (std::ranges::find(wide_, load) == wide_.end()) return body_.load(load);
        return BodyPrinter::from_stored(fmt::format("x{}.at[k]", load), value(load).dtype);
      });
    for (std::size_t s = 0; s < k_.stores.size(); ++s) {
      if (is_wide(k_.stores[s].address))
        lines_.add(fmt::format("y{}.at[k] = v{};", s, k_.stores[s].value));
      else
        store(static_cast<int>(s));
    }
    lines_.close();
    for (std::size_t s = 0; s < k_.stores.size(); ++s) {
      const KernelStore& st = k_.stores[s];
      if (!is_wide(st.address)) continue;
      lines_.add(fmt::format("*(vec<{}, {}>*)({} + {}) = y{};",
                             stored_type_name(stored_type(static_cast<int>(s))), width,
                             body_.buffer(st.buffer), body_.affine(st.address, fmt::format("w{}", s)), s));
    }
  }

  DType stored_type(int store) const { return value(k_.stores[static_cast<std::size_t>(store)].value).dtype; }

  bool depends_on_value(const Affine& a) const {
    return std::ranges::any_of(a.terms, [&](const Term& t) {
      const Atom& atom = k_.atoms[t.atom];
      return atom.kind != Atom::Kind::axis;
    });
  }

  void print_rows(KernelSource& source) {
    source.units = k_.rows();
    source.unit_elements = k_.row_length();
    row_length_ = reduced_.size() == 1 ? body_.extent(reduced_[0]) : body_.length(k_.row_length(), "n_row");
    const Staging staging = stage(k_, [](int) { return false; });
    lines_.add("const index u = (index)blockIdx.x;");
    body_.decode("u", kept_);
    for (const Walk& w : staging.walks) {
      for (int v : w.row_values) body_.declare(v);
      for (int v : w.folds) {
        lines_.add(fmt::format("{} fold{} = {};", fold_type(v), v, body_.identity(v)));
        if (finds_place(v)) lines_.add(fmt::format("index fold{}_at = -1;", v));
      }
      lines_.open(fmt::format("for (index f = (index)threadIdx.x; f < {}; f += {}) {{", row_length_,
                              schedule_.block_threads));
      body_.decode("f", reduced_);
      for (int v : w.values) body_.declare(v);
      for (int s : w.stores) store(s);
      for (int v : w.folds) combine(v, fmt::format("v{}", value(v).operands[0]), "f");
      lines_.close();
      for (int v : w.folds) exchange(v);
    }
    for (int v : staging.row_values) body_.declare(v);
    if (staging.row_stores.empty()) return;
    lines_.open("if (threadIdx.x == 0) {");
    for (int s : staging.row_stores) store(s);
    lines_.close();
  }

  bool finds_place(int v) const {
    return ir::reduction_info(value(v).op).accumulator == ir::Accumulator::index;
  }
  DType folded(int v) const { return value(value(v).operands[0]).dtype; }
  std::string fold_type(int v) const { return type_name(folded(v)); }

  void combine(int v, const std::string& b, const std::string& b_at) {
    const std::string a = fmt::format("fold{}", v);
    if (!finds_place(v)) {
      lines_.add(fmt::format("{} = {};", a,
                             BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v), {a, b})));
      return;
    }
    lines_.add(fmt::format("const bool take{0} = {1}_wins({2}, {3}, {4}, {4}_at);", v, name(value(v).op), b,
                           b_at, a));
    lines_.add(fmt::format("{} = take{} ? {} : {};", a, v, b, a));
    lines_.add(fmt::format("{}_at = take{} ? {} : {}_at;", a, v, b_at, a));
  }

  void shuffle_down(int v, int from) {
    lines_.open(fmt::format("for (int half = {}; half != 0; half /= 2) {{", from));
    lines_.add(fmt::format("const {} other = shuffle_xor(fold{}, half);", fold_type(v), v));
    if (finds_place(v)) lines_.add(fmt::format("const index other_at = shuffle_xor(fold{}_at, half);", v));
    combine(v, "other", "other_at");
    lines_.close();
  }

  /// Every thread gets the block's result: a butterfly within warps, one element a warp through shared
  /// memory, and the butterfly again.
  void exchange(int v) {
    constexpr int warp = 32;
    const int warps = schedule_.block_threads / warp;
    shuffle_down(v, warp / 2);
    lines_.add(fmt::format("__shared__ {} shared{}[{}];", fold_type(v), v, warps));
    if (finds_place(v)) lines_.add(fmt::format("__shared__ index shared{}_at[{}];", v, warps));
    lines_.open("if (threadIdx.x % 32 == 0) {");
    lines_.add(fmt::format("shared{0}[threadIdx.x / 32] = fold{0};", v));
    if (finds_place(v)) lines_.add(fmt::format("shared{0}_at[threadIdx.x / 32] = fold{0}_at;", v));
    lines_.close();
    lines_.add("sync_block();");
    lines_.add(fmt::format("fold{0} = shared{0}[threadIdx.x % {1}];", v, warps));
    if (finds_place(v)) lines_.add(fmt::format("fold{0}_at = shared{0}_at[threadIdx.x % {1}];", v, warps));
    shuffle_down(v, warps / 2);
    lines_.add(fmt::format("const {} v{} = fold{}{};", type_name(value(v).dtype), v, v,
                           finds_place(v) ? "_at" : ""));
  }

  const Kernel& k_;
  const Schedule& schedule_;
  Target target_;
  Lines lines_;
  BodyPrinter body_;
  std::vector<int> kept_, reduced_, wide_;
  std::string row_length_;
};

}  // namespace

KernelSource emit_cuda(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  return CudaEmitter(kernel, schedule, target).run();
}

}  // namespace sinter::codegen
