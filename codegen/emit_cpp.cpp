// The C++ dialect: a function over a range of pieces, which the runtime divides among threads. Innermost loops are
// vectorised by `omp simd`.
//
// Order of a fold: 32 running values take the elements of a block of 1024 in turn, are then folded by halves, and the
// blocks' results pairwise as in a binary counter. It depends on nothing but the number of elements.
#include <algorithm>

#include "codegen/emit_body.h"
#include "codegen/prelude.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

constexpr int lanes = 32;
constexpr int fold_block = 1024;
constexpr int tree_height = 54;  // of 2^63 elements in blocks
constexpr int chunk = 8192;      // elements of the innermost axis in one piece of a pointwise kernel

class CppEmitter {
 public:
  CppEmitter(const Kernel& k, const Schedule& s) : k_(k), schedule_(s), body_(k, lines_) {
    for (std::size_t i = 0; i < k.axes.size(); ++i)
      (k.axes[i].reduced ? reduced_ : kept_).push_back(static_cast<int>(i));
  }

  KernelSource run() {
    for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
      KernelParam p;
      p.kind = KernelParam::Kind::buffer;
      p.buffer = static_cast<int>(i);
      p.name = body_.buffer(p.buffer);
      body_.params().push_back(std::move(p));
    }
    KernelSource source;
    source.row_length = k_.row_length();
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
    source.schedule = schedule_;
    source.param_bytes = body_.lay_out(8);
    source.params = body_.params();
    source.header = header_comment(k_, schedule_);
    std::string text = "namespace sinter {\n\ntypedef int64 index;\n\n" + body_.param_struct() + "\n";
    text += fmt::format("extern \"C\" void {}(const void* params, int64 begin, int64 end, void* scratch) {{\n", k_.name);
    text += "  const Params& p = *(const Params*)params;\n";
    for (const std::string& local : body_.param_locals()) text += "  " + local + "\n";
    if (source.scratch_sizes.empty()) text += "  (void)scratch;\n";
    text += lines_.take() + "}\n\n}  // namespace sinter\n";
    source.text = prelude(text, Backend::cpu) + "\n" + text;
  }

  void store(int number) {
    const KernelStore& s = k_.stores[static_cast<std::size_t>(number)];
    lines_.add(fmt::format("{} = v{};", body_.element(s.buffer, s.address, fmt::format("w{}", number)), s.value));
  }

  void print_elements(KernelSource& source) {
    lines_.indent();
    const auto print_all = [&] {
      for (std::size_t v = 0; v < k_.values.size(); ++v) body_.declare(static_cast<int>(v));
      for (std::size_t s = 0; s < k_.stores.size(); ++s) store(static_cast<int>(s));
    };
    source.unit_elements = 1;
    if (kept_.size() <= 1) {
      source.units = k_.rows();
      lines_.add("#pragma omp simd");
      lines_.open("for (index i0 = begin; i0 < end; ++i0) {");
      print_all();
      lines_.close();
    } else {
      const int inner = kept_.back();
      const ir::Dim& length = k_.axes[static_cast<std::size_t>(inner)].extent;
      source.unit_elements = length.is_constant() ? ir::Dim(std::min<std::int64_t>(length.value(), chunk)) : length;
      const ir::Dim outer = k_.rows().divided_by(length).value_or(0);
      source.units = length.is_constant() ? outer * ir::Dim((length.value() + chunk - 1) / chunk) : outer;
      const std::string n = body_.extent(inner);
      lines_.add(fmt::format("const index chunks = ({} + {}) / {};", n, chunk - 1, chunk));
      lines_.open("for (index u = begin; u < end; ++u) {");
      lines_.add("const index row = u / chunks;");
      lines_.add(fmt::format("const index first = u % chunks * {};", chunk));
      lines_.add(fmt::format("const index last = {} - first < {} ? {} : first + {};", n, chunk, n, chunk));
      body_.decode("row", {kept_.begin(), kept_.end() - 1});
      lines_.add("#pragma omp simd");
      lines_.open(fmt::format("for (index i{} = first; i{} < last; ++i{}) {{", inner, inner, inner));
      print_all();
      lines_.close();
      lines_.close();
    }
  }

  void print_rows(KernelSource& source) {
    lines_.indent();
    source.units = k_.rows();
    source.unit_elements = source.row_length;
    const Staging staging = stage(k_, [&](int v) {
      return std::ranges::any_of(schedule_.crossings, [&](const Crossing& c) { return c.value == v; });
    });
    row_length_ = reduced_.size() == 1 ? body_.extent(reduced_[0]) : body_.length(source.row_length, "n_row");
    place_kept(staging, source);
    lines_.open("for (index u = begin; u < end; ++u) {");
    body_.decode("u", kept_);
    for (std::size_t w = 0; w < staging.walks.size(); ++w) {
      for (int v : staging.walks[w].row_values) body_.declare(v);
      if (staging.walks[w].folds.empty())
        sweep(staging.walks[w]);
      else
        fold(staging.walks[w], w);
    }
    for (int v : staging.row_values) body_.declare(v);
    for (int s : staging.row_stores) store(s);
    lines_.close();
  }

  /// Working memory: an array of a row's length per kept value.
  void place_kept(const Staging& staging, KernelSource& source) {
    std::string place = "(char*)scratch";
    for (const Walk& w : staging.walks)
      for (int v : w.kept) {
        const DType t = value(v).dtype;
        lines_.add(fmt::format("{}* const __restrict kept{} = ({}*)({});", type_name(t), v, type_name(t), place));
        source.scratch_sizes.push_back(size_of(t));
        place = fmt::format("(char*)kept{} + ({} * {} + 63) / 64 * 64", v, row_length_, size_of(t));
      }
  }

  /// What a walk does at one element, `f` its number in the row.
  void visit(const Walk& w) {
    body_.decode("f", reduced_);
    for (int v : w.restored) lines_.add(fmt::format("const {} v{} = kept{}[f];", type_name(value(v).dtype), v, v));
    for (int v : w.values) body_.declare(v);
    for (int v : w.kept) lines_.add(fmt::format("kept{}[f] = v{};", v, v));
    for (int s : w.stores) store(s);
  }

  void sweep(const Walk& w) {
    lines_.add("#pragma omp simd");
    lines_.open(fmt::format("for (index f = 0; f < {}; ++f) {{", row_length_));
    visit(w);
    lines_.close();
  }

  bool finds_place(int v) const { return ir::reduction_info(value(v).op).accumulator == ir::Accumulator::index; }
  std::string fold_type(int v) const { return type_name(value(value(v).operands[0]).dtype); }

  /// "a = a op b" for the running values of a reduction; for argmax, values with their places.
  void combine(int v, const std::string& a, const std::string& a_at, const std::string& b, const std::string& b_at,
               bool b_is_earlier = false) {
    const ir::ReductionInfo& info = ir::reduction_info(value(v).op);
    if (!finds_place(v)) {
      const DType t = value(value(v).operands[0]).dtype;
      const std::string text = b_is_earlier ? BodyPrinter::apply(info.combine, t, {b, a}) : BodyPrinter::apply(info.combine, t, {a, b});
      lines_.add(fmt::format("{} = {};", a, text));
      return;
    }
    lines_.add(fmt::format("const bool take{} = {}_wins({}, {}, {}, {});", v, name(value(v).op), b, b_at, a, a_at));
    lines_.add(fmt::format("{} = take{} ? {} : {};", a, v, b, a));
    lines_.add(fmt::format("{} = take{} ? {} : {};", a_at, v, b_at, a_at));
  }

  void declare_running(int v, const std::string& what, int count) {
    lines_.add(fmt::format("alignas(64) {} {}{}[{}];", fold_type(v), what, v, count));
    if (finds_place(v)) lines_.add(fmt::format("alignas(64) index {}{}_at[{}];", what, v, count));
  }

  void fold(const Walk& w, std::size_t number) {
    const std::string block = fmt::format("block{}", number), visit_name = fmt::format("visit{}", number);
    for (int v : w.folds) declare_running(v, "lane", lanes);
    for (int v : w.folds) declare_running(v, "tree", tree_height);
    lines_.add(fmt::format("int height{} = 0;", number));
    lines_.open(fmt::format("const auto {} = [&](index f, int lane) __attribute__((always_inline)) {{", visit_name));
    visit(w);
    for (int v : w.folds) {
      const std::string lane = fmt::format("lane{}[lane]", v), at = fmt::format("lane{}_at[lane]", v);
      combine(v, lane, at, fmt::format("v{}", value(v).operands[0]), "f");
    }
    lines_.close("};");
    lines_.open(fmt::format("for (index {0} = 0; {0} * {1} < {2}; ++{0}) {{", block, fold_block, row_length_));
    fold_one_block(w, block, visit_name);
    push_block(w, block, number);
    lines_.close();
    for (int v : w.folds) finish_fold(v, number);
  }

  void fold_one_block(const Walk& w, const std::string& block, const std::string& visit_name) {
    lines_.add(fmt::format("const index first = {} * {};", block, fold_block));
    lines_.add(fmt::format("const int length = {0} - first < {1} ? (int)({0} - first) : {1};", row_length_, fold_block));
    lines_.open(fmt::format("for (int l = 0; l < {}; ++l) {{", lanes));
    for (int v : w.folds) {
      lines_.add(fmt::format("lane{}[l] = {};", v, body_.identity(v)));
      if (finds_place(v)) lines_.add(fmt::format("lane{}_at[l] = -1;", v));
    }
    lines_.close();
    lines_.add("int done = 0;");
    lines_.open(fmt::format("for (; done + {} <= length; done += {}) {{", lanes, lanes));
    lines_.add("#pragma omp simd");
    lines_.add(fmt::format("for (int l = 0; l < {}; ++l) {}(first + done + l, l);", lanes, visit_name));
    lines_.close();
    lines_.add(fmt::format("for (int l = 0; l < length - done; ++l) {}(first + done + l, l);", visit_name));
    lines_.open(fmt::format("for (int half = {}; half != 0; half /= 2) {{", lanes / 2));
    lines_.open("for (int l = 0; l < half; ++l) {");
    for (int v : w.folds)
      combine(v, fmt::format("lane{}[l]", v), fmt::format("lane{}_at[l]", v), fmt::format("lane{}[l + half]", v),
              fmt::format("lane{}_at[l + half]", v));
    lines_.close();
    lines_.close();
  }

  /// As adding 1 to a binary counter carries: equal heights are folded, the earlier one on the left.
  void push_block(const Walk& w, const std::string& block, std::size_t number) {
    lines_.open(fmt::format("for (index carry = {}; (carry & 1) != 0; carry >>= 1) {{", block));
    lines_.add(fmt::format("--height{};", number));
    for (int v : w.folds)
      combine(v, fmt::format("lane{}[0]", v), fmt::format("lane{}_at[0]", v), fmt::format("tree{}[height{}]", v, number),
              fmt::format("tree{}_at[height{}]", v, number), true);
    lines_.close();
    for (int v : w.folds) {
      lines_.add(fmt::format("tree{}[height{}] = lane{}[0];", v, number, v));
      if (finds_place(v)) lines_.add(fmt::format("tree{}_at[height{}] = lane{}_at[0];", v, number, v));
    }
    lines_.add(fmt::format("++height{};", number));
  }

  void finish_fold(int v, std::size_t number) {
    const std::string total = fmt::format("total{}", v), at = fmt::format("total{}_at", v);
    lines_.add(fmt::format("{} {} = height{} == 0 ? {} : tree{}[height{} - 1];", fold_type(v), total, number,
                           body_.identity(v), v, number));
    if (finds_place(v))
      lines_.add(fmt::format("index {} = height{} == 0 ? 0 : tree{}_at[height{} - 1];", at, number, v, number));
    lines_.open(fmt::format("for (int h = height{} - 2; h >= 0; --h) {{", number));
    combine(v, total, at, fmt::format("tree{}[h]", v), fmt::format("tree{}_at[h]", v), true);
    lines_.close();
    lines_.add(fmt::format("const {} v{} = {};", type_name(value(v).dtype), v, finds_place(v) ? at : total));
  }

  const Kernel& k_;
  const Schedule& schedule_;
  Lines lines_;
  BodyPrinter body_;
  std::vector<int> kept_, reduced_;
  std::string row_length_;
};

}  // namespace

KernelSource emit_cpp(const Kernel& kernel, const Schedule& schedule) { return CppEmitter(kernel, schedule).run(); }

}  // namespace sinter::codegen
