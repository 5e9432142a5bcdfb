// Folds of the CUDA dialect: what a reduction carries along, how an element or another thread's part joins
// it, and how threads that share a row exchange theirs: by shuffles within warps, then through shared memory
// where a team has several.
//
// A reduction v has one state per name: the state "fold" of reduction 5 is the variables fold5 and, where it
// reports a place, fold5_at. Exchanges move a state part by part and join states by `merge`, whatever they
// are made of.
#include <algorithm>
#include <bit>

#include "codegen/emit_cuda.h"
#include "codegen/team.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {
constexpr int warp = warp_threads;

/// As many as a butterfly folds.
int places_for(int count) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
}
}  // namespace

DType CudaEmitter::folded(int v) const {
  return value(value(v).operands[0]).dtype;
}

std::vector<FoldPart> CudaEmitter::parts(int v) {
  std::vector<FoldPart> all;
  all.push_back({fmt::format("{}", v), type_name(folded(v)), stored_type_name(folded(v)), body_.identity(v)});
  if (finds_place(v)) all.push_back({fmt::format("{}_at", v), "index", "index", "-1"});
  if (has_mean(v)) {
    all.push_back({fmt::format("{}_t", v), type_name(folded(v)), type_name(folded(v)), "0"});
    all.push_back({fmt::format("{}_n", v), "index", "index", "0"});
  }
  for (FoldPart& p : parts(followers(v))) all.push_back(std::move(p));
  return all;
}

std::vector<FoldPart> CudaEmitter::parts(const std::vector<int>& folds) {
  std::vector<FoldPart> all;
  for (int v : folds)
    for (FoldPart& p : parts(v)) all.push_back(std::move(p));
  return all;
}

std::string CudaEmitter::from_stored(const FoldPart& part, const std::string& text) {
  return part.type == part.stored ? text : fmt::format("to_bool({})", text);
}

void CudaEmitter::declare_fold(int v, const std::string& state) {
  for (const FoldPart& p : parts(v))
    lines_.add(fmt::format("{} {}{} = {};", p.type, state, p.name, p.identity));
}

void CudaEmitter::accumulate(int v, const std::string& state, const std::string& place) {
  if (adds_deviations(v) && !followers(value(v).join.leader).empty()) return accumulate_distance(v, state);
  const std::string a = fmt::format("{}{}", state, v), b = fmt::format("v{}", value(v).operands[0]);
  if (!finds_place(v)) {
    join(v, state, b, place);
    if (!has_mean(v)) return;
    lines_.add(fmt::format("{0}_t = {0}_t + ({1} - pivot{2});", a, b, v));
    lines_.add(fmt::format("{}_n += 1;", a));
    return;
  }
  if (at_edge_) return join(v, state, b, place);
  if (std::ranges::find(extremes_, v) != extremes_.end()) {
    const ir::Op extreme = value(v).op == ir::Op::argmax ? ir::Op::maximum : ir::Op::minimum;
    const std::string most = fmt::format("most{}", v);
    return lines_.add(fmt::format("{} = {};", most, BodyPrinter::apply(extreme, folded(v), {most, b})));
  }
  // A thread's elements in vectors come in order, so that one before is not looked for.
  lines_.add(
      fmt::format("const bool take{0} = {1}_exceeds({2}, {3}) || {3}_at < 0;", v, name(value(v).op), b, a));
  lines_.add(fmt::format("{0} = take{1} ? {2} : {0};", a, v, b));
  lines_.add(fmt::format("{0}_at = take{1} ? {2} : {0}_at;", a, v, place));
}

void CudaEmitter::merge(int v, const std::string& into, const std::string& from) {
  if (!followers(v).empty()) {
    lines_.open("{");
    for (const std::string& part : own_parts(v))
      lines_.add(fmt::format(
          "const auto both{}{} = {};", v, part,
          combined(v, part, fmt::format("{}{}{}", into, v, part), fmt::format("{}{}{}", from, v, part))));
    for (int f : followers(v))
      lines_.add(fmt::format("{0} more{1} = {2}{1};", type_name(folded(f)), f, from));
    rescale(v, {into}, fmt::format("{}{}", into, v), fmt::format("both{}", v));
    rescale(v, {"more"}, fmt::format("{}{}", from, v), fmt::format("both{}", v));
    for (const std::string& part : own_parts(v))
      lines_.add(fmt::format("{0}{1}{2} = both{1}{2};", into, v, part));
    for (int f : followers(v)) join(f, into, fmt::format("more{}", f), "");
    lines_.close();
    return;
  }
  join(v, into, fmt::format("{}{}", from, v), fmt::format("{}{}_at", from, v));
}

/// Two parts of a leader's own state as one.
std::string CudaEmitter::combined(int v, const std::string& part, const std::string& a,
                                  const std::string& b) const {
  if (!part.empty()) return fmt::format("{} + {}", a, b);
  return BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v), {a, b});
}

void CudaEmitter::join(int v, const std::string& state, const std::string& b, const std::string& b_at) {
  const std::string a = fmt::format("{}{}", state, v);
  if (!finds_place(v)) {
    lines_.add(fmt::format("{} = {};", a,
                           BodyPrinter::apply(ir::reduction_info(value(v).op).combine, folded(v), {a, b})));
    return;
  }
  lines_.add(
      fmt::format("const bool take{0} = {1}_wins({2}, {3}, {4}, {4}_at);", v, name(value(v).op), b, b_at, a));
  lines_.add(fmt::format("{0} = take{1} ? {2} : {0};", a, v, b));
  lines_.add(fmt::format("{0}_at = take{1} ? {2} : {0}_at;", a, v, b_at));
}

/// Every lane gets what `2 * from` neighbours hold together. Followers are rescaled once, when their leader's
/// result is known.
void CudaEmitter::butterfly(int v, int from) {
  if (from == 0) return;
  if (followers(v).empty()) return butterfly_alone(v, from);
  lines_.open("{");
  for (const std::string& part : own_parts(v))
    lines_.add(fmt::format("const auto own{0}{1} = fold{0}{1};", v, part));
  butterfly_alone(v, from);
  rescale(v, {"fold"}, fmt::format("own{}", v), fmt::format("fold{}", v));
  for (int f : followers(v)) butterfly_alone(f, from);
  lines_.close();
}

void CudaEmitter::butterfly_alone(int v, int from) {
  lines_.add("#pragma unroll");
  lines_.open(fmt::format("for (int half = {}; half != 0; half /= 2) {{", from));
  for (const std::string& part : own_parts(v))
    lines_.add(fmt::format("const auto other{0}{1} = shuffle_xor(fold{0}{1}, half);", v, part));
  if (finds_place(v))
    join(v, "fold", fmt::format("other{}", v), fmt::format("other{}_at", v));
  else
    for (const std::string& part : own_parts(v))
      lines_.add(fmt::format(
          "fold{0}{1} = {2};", v, part,
          combined(v, part, fmt::format("fold{}{}", v, part), fmt::format("other{}{}", v, part))));
  lines_.close();
}

/// Every thread of the team gets the row's results.
void CudaEmitter::exchange(const std::vector<int>& folds) {
  if (!pieces_.empty())
    exchange_pieces(folds);
  else if (lanes_ > 0)
    exchange_columns(folds);
  else
    exchange_rows(folds);
  if (lanes_ > 0) return;
  const auto declare = [&](int v) {
    lines_.add(fmt::format("const {} v{} = fold{}{};", type_name(value(v).dtype), v, v,
                           finds_place(v) ? "_at" : ""));
  };
  for (int v : folds) {
    declare(v);
    for (int f : followers(v)) declare(f);
  }
}

/// A butterfly within warps, and where a team has several, one element a warp through shared memory and a
/// butterfly over those; one barrier for all folds.
void CudaEmitter::exchange_rows(const std::vector<int>& folds) {
  if (folds.empty()) return;
  const int warps = team_ / warp;
  const auto fold_lanes = [&](int lanes) {
    for (int v : folds) butterfly(v, lanes / 2);
  };
  if (warps == warp) {  // the same once more: written once, it compiles sooner
    lines_.add("#pragma unroll 1");
    lines_.open("for (bool of_warps = false;; of_warps = true) {");
    fold_lanes(warp);
    lines_.add("if (of_warps) break;");
    gather_warps(folds);
    lines_.close();
  } else {
    fold_lanes(std::min(team_, warp));
    if (warps > 1) gather_warps(folds);
    fold_lanes(places_for(warps));
  }
  if (cluster_ > 1)
    exchange_cluster(folds);
  else if (sharers_ > 1)
    exchange_messages(folds);
}

/// A lane of each warp gets what one of the warps has.
void CudaEmitter::gather_warps(const std::vector<int>& folds) {
  const int warps = team_ / warp;
  const std::vector<FoldPart> all = parts(folds);
  for (const FoldPart& p : all)
    lines_.add(fmt::format("__shared__ {} shared{}[{}];", p.stored, p.name, warps));
  lines_.open(fmt::format("if (t % {} == 0) {{", warp));
  for (const FoldPart& p : all) lines_.add(fmt::format("shared{0}[t / {1}] = fold{0};", p.name, warp));
  lines_.close();
  lines_.add("sync_block();");
  take_places(folds, "shared", warps);
}

/// Every lane takes what the arrays of that name have in one of `count` places; nothing where there are fewer
/// than a butterfly folds.
void CudaEmitter::take_places(const std::vector<int>& folds, std::string_view arrays, int count) {
  const int places = places_for(count);
  for (const FoldPart& p : parts(folds)) {
    const std::string stored = from_stored(p, fmt::format("{}{}[t % {}]", arrays, p.name, places));
    lines_.add(places == count ? fmt::format("fold{} = {};", p.name, stored)
                               : fmt::format("fold{} = t % {} < {} ? {} : {};", p.name, places, count, stored,
                                             p.identity));
  }
}

/// What the blocks of a cluster have folded: each stores its own to all of them, and joins what has come.
void CudaEmitter::exchange_cluster(const std::vector<int>& folds) {
  const std::vector<FoldPart> all = parts(folds);
  if (!cluster_entered_) lines_.add("cluster_wait();");
  cluster_entered_ = true;
  for (const FoldPart& p : all)
    lines_.add(fmt::format("__shared__ {} blocks{}[{}];", p.stored, p.name, cluster_));
  lines_.open(fmt::format("if (t < {}) {{", cluster_));
  for (const FoldPart& p : all)
    lines_.add(fmt::format("store_to_block(&blocks{0}[rank], t, ({1})fold{0});", p.name, p.stored));
  lines_.close();
  lines_.add("cluster_arrive();");
  lines_.add("cluster_wait();");
  take_places(folds, "blocks", cluster_);
  for (int v : folds) butterfly(v, places_for(cluster_) / 2);
}

}  // namespace sinter::codegen
