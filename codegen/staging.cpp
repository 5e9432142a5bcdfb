#include "codegen/staging.h"

#include <algorithm>

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

class Stager {
 public:
  Stager(const Kernel& k, const std::function<bool(int)>& keep)
      : k_(k), keep_(keep), in_row_(k.varies_in_row()) {
    find_depths();
  }

  Staging run() {
    Staging s;
    int walks = 0;
    for (std::size_t i = 0; i < k_.values.size(); ++i)
      if (k_.values[i].kind == Kind::reduce) walks = std::max(walks, depth_[i]);
    for (int w = 0; w < walks; ++w) s.walks.push_back(walk(w));
    place_stores(s);
    place_row_values(s);
    mark_kept(s);
    return s;
  }

 private:
  void find_depths() {
    depth_.assign(k_.values.size(), 0);
    for (std::size_t i = 0; i < k_.values.size(); ++i) {
      for_each_operand(k_, static_cast<int>(i),
                       [&](int o) { depth_[i] = std::max(depth_[i], depth_[static_cast<std::size_t>(o)]); });
      if (k_.values[i].kind == Kind::reduce) ++depth_[i];
    }
  }

  /// Adds to a walk what its roots need: values at each element that no earlier walk has kept.
  void demand(Walk& w, std::vector<int> roots) {
    std::vector<int>& seen = w.values;
    while (!roots.empty()) {
      const int v = roots.back();
      roots.pop_back();
      if (!in_row_[static_cast<std::size_t>(v)] || std::ranges::find(seen, v) != seen.end() ||
          std::ranges::find(w.restored, v) != w.restored.end())
        continue;
      if (keep_(v) && std::ranges::find(computed_before_, v) != computed_before_.end()) {
        w.restored.push_back(v);
        continue;
      }
      seen.push_back(v);
      for_each_operand(k_, v, [&](int o) { roots.push_back(o); });
    }
    std::ranges::sort(w.values);
    std::ranges::sort(w.restored);
  }

  Walk walk(int number) {
    Walk w;
    std::vector<int> roots;
    for (std::size_t i = 0; i < k_.values.size(); ++i)
      if (k_.values[i].kind == Kind::reduce && depth_[i] == number + 1) {
        w.folds.push_back(static_cast<int>(i));
        roots.push_back(k_.values[i].operands[0]);
      }
    demand(w, roots);
    computed_before_.insert(computed_before_.end(), w.values.begin(), w.values.end());
    return w;
  }

  /// A store goes into the first walk that has its value anyway, else into one last walk.
  void place_stores(Staging& s) {
    Walk last;
    std::vector<int> roots;
    for (std::size_t i = 0; i < k_.stores.size(); ++i) {
      const int store = static_cast<int>(i), value = k_.stores[i].value;
      if (!in_row_[static_cast<std::size_t>(value)] && !k_.varies_in_row(k_.stores[i].address, in_row_)) {
        s.row_stores.push_back(store);
        continue;
      }
      auto has = [&](const Walk& w) { return std::ranges::find(w.values, value) != w.values.end(); };
      if (auto w = std::ranges::find_if(s.walks, has); w != s.walks.end()) {
        w->stores.push_back(store);
      } else {
        last.stores.push_back(store);
        roots.push_back(value);
      }
    }
    if (last.stores.empty()) return;
    demand(last, roots);
    s.walks.push_back(std::move(last));
  }

  void place_row_values(Staging& s) const {
    for (std::size_t i = 0; i < k_.values.size(); ++i) {
      if (in_row_[i] || k_.values[i].kind == Kind::reduce) continue;
      const auto depth = static_cast<std::size_t>(depth_[i]);
      (depth < s.walks.size() ? s.walks[depth].row_values : s.row_values).push_back(static_cast<int>(i));
    }
  }

  static void mark_kept(Staging& s) {
    for (const Walk& later : s.walks)
      for (int v : later.restored)
        for (Walk& w : s.walks)
          if (std::ranges::find(w.values, v) != w.values.end()) {
            if (std::ranges::find(w.kept, v) == w.kept.end()) w.kept.push_back(v);
            break;
          }
  }

  const Kernel& k_;
  const std::function<bool(int)>& keep_;
  std::vector<bool> in_row_;
  std::vector<int> depth_;  // how many reductions lie one above the other below a value
  std::vector<int> computed_before_;
};

}  // namespace

Staging stage(const Kernel& kernel, const std::function<bool(int)>& keep) {
  return Stager(kernel, keep).run();
}

int flops(const KernelValue& v) {
  constexpr int philox = 60;  // ten rounds of two multiplications
  if (v.kind == Kind::random) return philox;
  if (v.kind != Kind::compute) return 0;
  constexpr int approximation = 4;
  return v.form == passes::MathForm::narrow ? approximation : ir::elementwise_info(v.op).flops;
}

}  // namespace sinter::codegen
