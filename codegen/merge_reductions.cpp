#include "codegen/merge_reductions.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

using ir::Op;
using Kind = KernelValue::Kind;

/// One term of a sum: coefficient * core.
struct LinearTerm {
  int core;
  bool negative = false;
  std::vector<int> factors, divisors;  // the same for the whole row, and free of the leader

  bool cancels(const LinearTerm& other) const {
    return negative != other.negative && factors == other.factors && divisors == other.divisors;
  }
};
/// A value as a sum of terms, plus something that is the same for the whole row.
using Linear = std::optional<std::vector<LinearTerm>>;

/// A value that is rescaled where the leader's result changes. Its exponent has the leader's operand in it,
/// or `bare` in its place, which will do under a condition that makes the two equal.
struct Scaled {
  std::vector<Rescaling> rescaling;
  int bare = -1;
  bool operator==(const Scaled&) const = default;
};

void insert_sorted(std::vector<int>& into, int v) {
  into.insert(std::ranges::upper_bound(into, v), v);
}

/// What the values of a kernel are in terms of one reduction's result, the leader's.
class Algebra {
 public:
  Algebra(const Kernel& k, const std::vector<bool>& in_row, int leader)
      : k_(k),
        in_row_(in_row),
        leader_(leader),
        folded_(first_equal(without_casts(at(leader).operands[0]))),
        depends_(k.values.size()),
        modest_(k.values.size()),
        linear_(k.values.size()),
        scaled_(k.values.size()) {}

  /// Reads the values up to `last`.
  void read(int last) {
    for (int v = 0; v <= last; ++v) {
      const auto i = static_cast<std::size_t>(v);
      depends_[i] = v == leader_;
      for_each_operand(k_, v, [&](int o) { depends_[i] = depends_[i] || depends(o); });
      modest_[i] = !depends_[i] && is_modest(v);
      linear_[i] = linear(v);
      if (depends_[i] && at(v).kind == Kind::compute) scaled_[i] = scaled(v);
    }
  }

  /// Whether a value is (x - mean)^2, where the leader adds up x.
  bool is_deviation(int v) const {
    if (!is_compute(v, Op::mul) || at(v).operands[0] != at(v).operands[1]) return false;
    const Linear& d = linear_[static_cast<std::size_t>(at(v).operands[0])];
    if (!d || d->size() != 2) return false;
    const bool first = (*d)[0].core == leader_;
    const LinearTerm &row = (*d)[first ? 0 : 1], &element = (*d)[first ? 1 : 0];
    return row.core == leader_ && element.core == folded_ && element.factors.empty() &&
           element.divisors.empty() && row.negative != element.negative && is_mean(row);
  }

  /// How a sum of this value is rescaled; nothing if that cannot be done.
  std::optional<Scaled> terms(int v) const { return scaled_[static_cast<std::size_t>(v)]; }

 private:
  const KernelValue& at(int v) const { return k_.values[static_cast<std::size_t>(v)]; }
  bool depends(int v) const { return depends_[static_cast<std::size_t>(v)]; }
  bool modest(int v) const { return modest_[static_cast<std::size_t>(v)]; }
  bool is_compute(int v, Op op) const { return at(v).kind == Kind::compute && at(v).op == op; }
  bool row_invariant(int v) const { return !in_row_[static_cast<std::size_t>(v)] && !depends(v); }
  bool is_zero(int v) const { return at(v).kind == Kind::literal && at(v).literal.real() == 0; }

  /// Whether a term is the leader's result by the row's length.
  bool is_mean(const LinearTerm& t) const {
    if (!k_.row_length().is_constant()) return false;
    long double product = static_cast<long double>(k_.row_length().value());
    for (int v : t.factors) product *= at(v).kind == Kind::literal ? at(v).literal.real() : 0;
    for (int v : t.divisors) product /= at(v).kind == Kind::literal ? at(v).literal.real() : 0;
    return std::abs(product - 1) < 1e-6L;
  }

  /// Whether a value is its operand in a wider float dtype.
  bool widens(int v) const {
    return is_compute(v, Op::cast) && is_float(at(v).dtype) && is_float(at(at(v).operands[0]).dtype) &&
           size_of(at(v).dtype) > size_of(at(at(v).operands[0]).dtype);
  }
  int without_casts(int v) const {
    while (widens(v)) v = at(v).operands[0];
    return v;
  }
  /// The first value that is the same load or literal.
  int first_equal(int v) const {
    const KernelValue& x = at(v);
    for (int u = 0; u < v; ++u) {
      const KernelValue& y = at(u);
      const bool same_load = x.kind == Kind::load && y.kind == Kind::load && x.buffer == y.buffer &&
                             x.guard == y.guard && x.address == y.address;
      const bool same_literal =
          x.kind == Kind::literal && y.kind == Kind::literal && x.dtype == y.dtype && x.literal == y.literal;
      if (same_load || same_literal) return u;
    }
    return v;
  }
  bool is_leader(int v) const { return without_casts(v) == leader_; }
  bool is_finite_literal(int v) const {
    return at(v).kind == Kind::literal && is_float(at(v).dtype) && std::isfinite(at(v).literal.real());
  }

  /// Whether a value is finite, and so far from overflow that sums of such are, too.
  bool is_modest(int v) const {
    constexpr long double most = 0x1p64L;
    const KernelValue& x = at(v);
    if (!is_float(x.dtype)) return true;
    if (x.kind == Kind::literal) return std::abs(x.literal.real()) <= most;
    if (x.kind != Kind::compute) return false;
    const std::vector<int>& o = x.operands;
    if (x.op == Op::where) return modest(o[1]) && modest(o[2]);
    if (x.op == Op::cast || x.op == Op::neg || x.op == Op::abs) return modest(o[0]);
    return (x.op == Op::add || x.op == Op::sub) && modest(o[0]) && modest(o[1]);
  }

  /// Whether a row's value is the leader's result, but where that is infinite, or out of a literal's bounds
  /// on the side that leaves it a bound of what is folded.
  bool is_guarded_leader(int v) const {
    const std::vector<int>& o = at(v).operands;
    if (at(v).kind != Kind::compute) return false;
    const Op bound = at(leader_).op == Op::max ? Op::maximum : Op::minimum;
    if (at(v).op == bound)
      return (is_leader(o[0]) && is_finite_literal(o[1])) || (is_leader(o[1]) && is_finite_literal(o[0]));
    if (at(v).op != Op::where) return false;
    if (is_finite_literal(o[1]) && is_leader(o[2])) return tests_leader(o[0], Op::isinf, Op::equal);
    return is_finite_literal(o[2]) && is_leader(o[1]) && tests_leader(o[0], Op::isfinite, Op::not_equal);
  }

  /// Whether a condition is `test` of the leader, or compares it with an infinity.
  bool tests_leader(int condition, Op test, Op compare) const {
    const KernelValue& c = at(condition);
    if (c.kind != Kind::compute) return false;
    if (c.op == test) return is_leader(c.operands[0]);
    if (c.op == Op::logical_not)
      return test == Op::isinf && is_compute(c.operands[0], Op::isfinite) &&
             is_leader(at(c.operands[0]).operands[0]);
    const auto infinite = [&](int v) {
      return at(v).kind == Kind::literal && is_float(at(v).dtype) && std::isinf(at(v).literal.real());
    };
    return c.op == compare && ((is_leader(c.operands[0]) && infinite(c.operands[1])) ||
                               (is_leader(c.operands[1]) && infinite(c.operands[0])));
  }

  Linear linear(int v) const {
    constexpr std::size_t most = 8;
    const Linear itself{{LinearTerm{first_equal(v), false, {}, {}}}};
    if (v == leader_ || first_equal(v) == folded_ || is_guarded_leader(v)) return itself;
    if (row_invariant(v)) return std::vector<LinearTerm>{};
    if (Linear sum = at(v).kind == Kind::compute ? sum_of(v) : Linear(); sum && sum->size() <= most)
      return sum;
    return depends(v) ? Linear() : itself;
  }

  Linear sum_of(int v) const {
    const KernelValue& x = at(v);
    const std::vector<int>& o = x.operands;
    const auto form = [&](int operand) { return linear_[static_cast<std::size_t>(operand)]; };
    if (widens(v)) return form(o[0]);
    if (x.op == Op::neg) return negated(form(o[0]));
    if (x.op == Op::add) return added(form(o[0]), form(o[1]));
    if (x.op == Op::sub) return added(form(o[0]), negated(form(o[1])));
    if (x.op == Op::mul) return product(o[0], o[1]);
    if (x.op == Op::fma) return added(product(o[0], o[1]), form(o[2]));
    if (x.op != Op::div || !row_invariant(o[1])) return {};
    Linear quotient = form(o[0]);
    if (quotient)
      for (LinearTerm& t : *quotient) insert_sorted(t.divisors, first_equal(o[1]));
    return quotient;
  }

  static Linear negated(Linear a) {
    if (a)
      for (LinearTerm& t : *a) t.negative = !t.negative;
    return a;
  }
  static Linear added(Linear a, const Linear& b) {
    if (!a || !b) return {};
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  Linear product(int a, int b) const {
    if (row_invariant(a)) std::swap(a, b);
    if (!row_invariant(b)) return {};
    Linear p = linear_[static_cast<std::size_t>(a)];
    if (p)
      for (LinearTerm& t : *p) insert_sorted(t.factors, first_equal(b));
    return p;
  }

  std::optional<Scaled> scaled(int v) const {
    const KernelValue& x = at(v);
    const std::vector<int>& o = x.operands;
    const auto form = [&](int operand) { return scaled_[static_cast<std::size_t>(operand)]; };
    if (x.op == Op::exp || x.op == Op::exp2) return power(v);
    if (widens(v) || x.op == Op::neg || x.op == Op::abs) return form(o[0]);
    if (x.op == Op::mul) return times(o[0], o[1]);
    if (x.op == Op::add || x.op == Op::sub) return same(form(o[0]), form(o[1]));
    if (x.op == Op::fma) return same(times(o[0], o[1]), form(o[2]));
    if (x.op == Op::div && at(o[1]).kind == Kind::literal && std::abs(at(o[1]).literal.real()) >= 1)
      return form(o[0]);
    if (x.op != Op::where || depends(o[0])) return {};
    if (is_zero(o[2])) return under(o[0], form(o[1]), 1);
    if (is_zero(o[1])) return under(o[0], form(o[2]), 2);
    return same(form(o[1]), form(o[2]));
  }

  /// e^(coefficient (x - leader)).
  std::optional<Scaled> power(int v) const {
    const Linear& exponent = linear_[static_cast<std::size_t>(at(v).operands[0])];
    if (!exponent || exponent->size() != 2) return {};
    const bool first = depends((*exponent)[0].core);
    const LinearTerm &row = (*exponent)[first ? 0 : 1], &element = (*exponent)[first ? 1 : 0];
    if (!depends(row.core) || depends(element.core) || !row.cancels(element)) return {};
    return Scaled{{{row.core, at(v).op, at(v).form, row.negative, row.factors, row.divisors}},
                  element.core == folded_ ? -1 : element.core};
  }

  std::optional<Scaled> times(int a, int b) const {
    std::optional<Scaled> p = scaled_[static_cast<std::size_t>(a)], q = scaled_[static_cast<std::size_t>(b)];
    if (p && q && p->bare == q->bare) {
      p->rescaling.insert(p->rescaling.end(), q->rescaling.begin(), q->rescaling.end());
      constexpr std::size_t most = 4;
      return p->rescaling.size() <= most ? p : std::nullopt;
    }
    if (p && modest(b)) return p;
    if (q && modest(a)) return q;
    return {};
  }

  static std::optional<Scaled> same(std::optional<Scaled> a, const std::optional<Scaled>& b) {
    return a && b && *a == *b ? a : std::nullopt;
  }

  /// A value that counts only under a condition: there the leader's operand may be chosen likewise.
  std::optional<Scaled> under(int condition, std::optional<Scaled> s, std::size_t branch) const {
    if (s && s->bare >= 0 && is_compute(folded_, Op::where) && at(folded_).operands[0] == condition &&
        first_equal(without_casts(at(folded_).operands[branch])) == s->bare)
      s->bare = -1;
    return s;
  }

  const Kernel& k_;
  const std::vector<bool>& in_row_;
  int leader_, folded_;
  std::vector<bool> depends_, modest_;
  std::vector<Linear> linear_;
  std::vector<std::optional<Scaled>> scaled_;
};

class Merger {
 public:
  explicit Merger(Kernel& k) : k_(k), in_row_(k.varies_in_row()), depth_(k.values.size()) {}

  void run() {
    for (int v = 0; v < static_cast<int>(k_.values.size()); ++v) {
      int& depth = depth_[static_cast<std::size_t>(v)];
      for_each_operand(k_, v, [&](int o) { depth = std::max(depth, depth_[static_cast<std::size_t>(o)]); });
      if (k_.values[static_cast<std::size_t>(v)].kind != Kind::reduce ||
          k_.values[static_cast<std::size_t>(v)].across)
        continue;
      if (depth == 0 || !joins(v, depth)) ++depth;
    }
  }

 private:
  KernelValue& at(int v) { return k_.values[static_cast<std::size_t>(v)]; }

  bool joins(int v, int depth) {
    std::string why;
    const std::vector<int> before = results(v, depth);
    if (before.size() > 1)
      why = "it needs several results of one walk";
    else if (at(v).op != Op::sum)
      why = "only sums are rescaled";
    else if (const DType t = at(at(v).operands[0]).dtype; t != DType::f32 && t != DType::f64)
      why = fmt::format("it adds up {}", name(t));
    else if (at(before[0]).op == Op::sum)
      why = deviations(v, before[0]);
    else if (at(before[0]).op != Op::max && at(before[0]).op != Op::min)
      why = fmt::format("v{} is no maximum, minimum or sum", before[0]);
    else
      why = terms(v, before[0]);
    if (why.empty()) return true;
    k_.apart.push_back(fmt::format("v{} is folded after v{}: {}", v, before[0], why));
    return false;
  }

  /// Tries one leader; why it cannot be, or nothing.
  std::string terms(int v, int leader) {
    Algebra algebra(k_, in_row_, leader);
    algebra.read(v - 1);
    std::optional<Scaled> scaled = algebra.terms(at(v).operands[0]);
    if (!scaled || scaled->bare >= 0)
      return fmt::format("its terms are not e^(k (x - v{})), times what is small, with x what v{} folds",
                         leader, leader);
    at(v).join = {leader, std::move(scaled->rescaling)};
    return {};
  }

  std::string deviations(int v, int leader) {
    Algebra algebra(k_, in_row_, leader);
    algebra.read(v - 1);
    if (!algebra.is_deviation(at(v).operands[0]) ||
        at(at(leader).operands[0]).dtype != at(at(v).operands[0]).dtype)
      return fmt::format("it does not add up (x - mean)^2, where v{} adds up x", leader);
    at(v).join = {leader, {}, true};
    return {};
  }

  /// The reductions of that depth on which a value depends.
  std::vector<int> results(int v, int depth) {
    std::vector<int> found, stack{v};
    std::vector<bool> seen(k_.values.size());
    while (!stack.empty()) {
      const int next = stack.back();
      stack.pop_back();
      for_each_operand(k_, next, [&](int o) {
        if (seen[static_cast<std::size_t>(o)] || depth_[static_cast<std::size_t>(o)] < depth) return;
        seen[static_cast<std::size_t>(o)] = true;
        if (at(o).kind == Kind::reduce)
          found.push_back(o);
        else
          stack.push_back(o);
      });
    }
    std::ranges::sort(found);
    return found;
  }

  Kernel& k_;
  std::vector<bool> in_row_;
  std::vector<int> depth_;  // walks after which a value is known, with the joins made so far
};

}  // namespace

void merge_reductions(Kernel& kernel) {
  Merger(kernel).run();
}

}  // namespace sinter::codegen
