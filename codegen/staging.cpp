#include "codegen/staging.h"

#include <algorithm>

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

constexpr int costly = 8;  // instructions; a function such as exp

class Stager {
 public:
  Stager(const Kernel& k, const std::function<bool(int)>& keep, const std::vector<int>& joined)
      : k_(k), keep_(keep), joined_(joined), in_row_(k.varies_in_row()) {
    find_depths();
  }

  Staging run() {
    Staging s;
    int depth = 0;
    for (std::size_t i = 0; i < k_.values.size(); ++i)
      if (folds_row(i)) depth = std::max(depth, depth_[i]);
    for (int d = 0; d < depth; ++d) {
      first_walk_.push_back(s.walks.size());
      s.walks.push_back(walk(d, false));
      if (Walk more = walk(d, true); !more.folds.empty()) s.walks.push_back(std::move(more));
    }
    first_walk_.push_back(s.walks.size());
    place_at_elements(s);
    place_row_values(s);
    mark_kept(s);
    return s;
  }

 private:
  /// What a walk computes for a reduction: distances from a mean are found from the elements themselves.
  int folded(const KernelValue& reduction) const {
    const Join& join = reduction.join;
    const bool itself =
        join.leader < 0 || !join.deviations || !is_joined(static_cast<int>(&reduction - k_.values.data()));
    return (itself ? reduction : k_.values[static_cast<std::size_t>(join.leader)]).operands[0];
  }

  bool is_joined(int v) const { return std::ranges::find(joined_, v) != joined_.end(); }

  void find_depths() {
    depth_.assign(k_.values.size(), 0);
    for (std::size_t i = 0; i < k_.values.size(); ++i) {
      for_each_operand(k_, static_cast<int>(i),
                       [&](int o) { depth_[i] = std::max(depth_[i], depth_[static_cast<std::size_t>(o)]); });
      if (folds_row(i) && !is_joined(static_cast<int>(i))) ++depth_[i];
    }
  }
  bool folds_row(std::size_t v) const { return k_.values[v].kind == Kind::reduce && !k_.values[v].across; }

  /// Whether a value that an earlier walk has computed is there for this one. A walk that continues another
  /// finds the stretch as that one has left it.
  bool found(const Walk& w, int v) const {
    const auto in = [&](const std::vector<int>& values) {
      return std::ranges::find(values, v) != values.end();
    };
    const KernelValue& x = k_.values[static_cast<std::size_t>(v)];
    if (w.continues && in(continued_) && (x.kind == Kind::load || flops(x) >= costly)) return true;
    return keep_(v) && in(computed_before_);
  }

  /// Adds to a walk what its roots need: values at each element that no earlier walk has kept.
  void demand(Walk& w, std::vector<int> roots) {
    std::vector<int>& seen = w.values;
    while (!roots.empty()) {
      const int v = roots.back();
      roots.pop_back();
      if (w.continues && !in_row_[static_cast<std::size_t>(v)]) add_running(w, v);
      if (!in_row_[static_cast<std::size_t>(v)] || std::ranges::find(seen, v) != seen.end() ||
          std::ranges::find(w.restored, v) != w.restored.end())
        continue;
      if (found(w, v)) {
        w.restored.push_back(v);
        continue;
      }
      seen.push_back(v);
      for_each_operand(k_, v, [&](int o) { roots.push_back(o); });
    }
    std::ranges::sort(w.values);
    std::ranges::sort(w.restored);
    std::ranges::sort(w.row_values);
  }

  /// What a row's value becomes with the folds so far.
  void add_running(Walk& w, int root) {
    const int level = depth_[static_cast<std::size_t>(w.folds[0])];
    std::vector<int> stack{root};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (k_.values[static_cast<std::size_t>(v)].kind == Kind::reduce ||
          depth_[static_cast<std::size_t>(v)] < level ||
          std::ranges::find(w.row_values, v) != w.row_values.end())
        continue;
      w.row_values.push_back(v);
      for_each_operand(k_, v, [&](int o) { stack.push_back(o); });
    }
  }

  /// The walk that folds the reductions that depend on `depth` others one above the other, or the one that
  /// continues it with those that are folded along.
  Walk walk(int depth, bool continues) {
    Walk w;
    w.continues = continues;
    std::vector<int> roots;
    for (std::size_t i = 0; i < k_.values.size(); ++i)
      if (folds_row(i) && depth_[i] == depth + 1 && is_joined(static_cast<int>(i)) == continues) {
        w.folds.push_back(static_cast<int>(i));
        roots.push_back(folded(k_.values[i]));
      }
    demand(w, roots);
    continued_ = w.values;
    continued_.insert(continued_.end(), w.restored.begin(), w.restored.end());
    for (int v : w.values)
      if (!continues || depth_[static_cast<std::size_t>(v)] <= depth) computed_before_.push_back(v);
    return w;
  }

  /// A store, or a fold across rows, goes into the first walk that has its value anyway, else into one last
  /// walk.
  void place_at_elements(Staging& s) {
    Walk last;
    std::vector<int> roots;
    const auto place = [&](int value, std::vector<int> Walk::*list, int item) {
      auto has = [&](const Walk& w) {
        return !w.continues && std::ranges::find(w.values, value) != w.values.end();
      };
      if (auto w = std::ranges::find_if(s.walks, has); w != s.walks.end())
        return ((*w).*list).push_back(item);
      (last.*list).push_back(item);
      roots.push_back(value);
    };
    for (std::size_t i = 0; i < k_.stores.size(); ++i) {
      const int store = static_cast<int>(i), value = k_.stores[i].value;
      if (k_.values[static_cast<std::size_t>(value)].across)
        s.part_stores.push_back(store);
      else if (!k_.stores_in_row(k_.stores[i], in_row_))
        s.row_stores.push_back(store);
      else
        place(value, &Walk::stores, store);
    }
    for (std::size_t i = 0; i < k_.values.size(); ++i)
      if (k_.values[i].across) place(k_.values[i].operands[0], &Walk::across, static_cast<int>(i));
    if (roots.empty()) return;
    // No walk more than the folds need where no store needs a fold.
    const auto folds_below = [&](int v) { return depth_[static_cast<std::size_t>(v)]; };
    if (!s.walks.empty() && last.across.empty() && std::ranges::none_of(roots, folds_below)) {
      Walk& first = s.walks.front();
      first.stores.insert(first.stores.end(), last.stores.begin(), last.stores.end());
      std::ranges::sort(first.stores);
      computed_before_.clear();
      return demand(first, roots);
    }
    demand(last, roots);
    s.walks.push_back(std::move(last));
  }

  void place_row_values(Staging& s) const {
    for (std::size_t i = 0; i < k_.values.size(); ++i) {
      if (in_row_[i] || k_.values[i].kind == Kind::reduce) continue;
      const std::size_t walk = first_walk_[static_cast<std::size_t>(depth_[i])];
      (walk < s.walks.size() ? s.walks[walk].row_values : s.row_values).push_back(static_cast<int>(i));
    }
  }

  /// By the walk that computes it last before: one that a walk continues may compute anew what others have.
  static void mark_kept(Staging& s) {
    for (std::size_t later = 0; later < s.walks.size(); ++later)
      for (int v : s.walks[later].restored)
        for (std::size_t i = later; i-- > 0;) {
          Walk& w = s.walks[i];
          if (std::ranges::find(w.values, v) == w.values.end()) continue;
          if (std::ranges::find(w.kept, v) == w.kept.end()) w.kept.push_back(v);
          break;
        }
  }

  const Kernel& k_;
  const std::function<bool(int)>& keep_;
  const std::vector<int>& joined_;
  std::vector<bool> in_row_;
  std::vector<int> depth_;  // how many walks there are before a value is known
  std::vector<int> computed_before_;
  std::vector<int> continued_;           // at hand in the walk before
  std::vector<std::size_t> first_walk_;  // per depth: the walk before which its values are known
};

}  // namespace

Staging stage(const Kernel& kernel, const std::function<bool(int)>& keep, const std::vector<int>& joined) {
  return Stager(kernel, keep, joined).run();
}

std::vector<Walk> separate_walks(const Kernel& kernel, const std::vector<int>& joined) {
  std::vector<Walk> walks = stage(
                                kernel, [](int) { return false; }, joined)
                                .walks;
  std::erase_if(walks, [](const Walk& w) { return w.continues; });
  return walks;
}

std::vector<int> joinable(const Kernel& kernel, bool deviations) {
  std::vector<int> found;
  for (std::size_t i = 0; i < kernel.values.size(); ++i)
    if (const Join& join = kernel.values[i].join; join.leader >= 0 && (deviations || !join.deviations))
      found.push_back(static_cast<int>(i));
  return found;
}

int flops(const KernelValue& v) {
  constexpr int philox = 60;  // ten rounds of two multiplications
  if (v.kind == Kind::random) return philox;
  if (v.kind != Kind::compute) return 0;
  const int portable = ir::elementwise_info(v.op).flops;
  if (v.form == passes::MathForm::portable || v.form == passes::MathForm::device) return portable;
  constexpr int short_function = 12, approximation = 4;  // by instructions of the machine alone
  return portable <= short_function ? approximation : portable / 2;
}

}  // namespace sinter::codegen
