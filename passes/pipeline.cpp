#include "passes/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>

#include "ir/base/check.h"
#include "ir/base/dump.h"
#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "ir/liveness.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "passes/contract.h"
#include "passes/copy_operands.h"
#include "passes/fold_constants.h"
#include "passes/join_bias.h"
#include "passes/lower_products.h"
#include "passes/lower_scatters.h"
#include "passes/merge_equal.h"
#include "passes/precision.h"
#include "passes/simplify.h"
#include "passes/sink_reshapes.h"

namespace sinter::passes {
namespace {

using ir::Graph;

constexpr NamedPass merging{"merge_equal", merge_equal,
                            "makes one node of x + y and y + x, and of sums with and without keepdims"};
constexpr NamedPass simplifying{"simplify", simplify, "applies the rewrite rules of docs/rules.md"};
constexpr NamedPass folding{"fold_constants", fold_constants, "computes what depends on constants only"};
constexpr NamedPass deciding{"precision", decide_precision,
                             "decides where 16-bit values round, and computes in f32"};
constexpr NamedPass contracting{"contract", contract, "joins products and sums into fma"};
constexpr NamedPass lowering{"lower_products", lower_products,
                             "writes products that the library does not take as sums"};
constexpr NamedPass ordering{"lower_scatters", lower_scatters,
                             "writes scatters as sums over slices in the order of their indices"};
constexpr NamedPass sinking{"sink_reshapes", sink_reshapes,
                            "goes on in the shape of rows after what folds them"};
constexpr NamedPass joining{"join_bias", join_bias, "lets the library add a bias to a product"};
constexpr NamedPass copying{"copy_operands", copy_operands,
                            "copies inputs that the library does not read where they are"};
constexpr std::array passes{lowering, ordering,    merging, simplifying, folding,
                            deciding, contracting, sinking, joining,     copying};

class Driver {
 public:
  Driver(const Graph& graph, const PassContext& context, PassTrace* trace)
      : graph_(ir::without_dead_nodes(graph)),
        context_(context),
        trace_(trace),
        disabled_(settings().disable_passes),
        dump_prefix_(context.dump_prefix.empty() ? new_dump_prefix(graph.name()) : context.dump_prefix) {
    for (const std::string& name : disabled_)
      if (std::ranges::none_of(passes, [&](const NamedPass& p) { return p.name == name; }))
        fail<ValueError>("SINTER_DISABLE_PASSES: no pass is named {}; there are {}", name, names());
    dump("captured");
  }

  /// Whether the pass changed anything.
  bool run(const NamedPass& pass) {
    if (std::ranges::find(disabled_, pass.name) != disabled_.end()) return false;
    const auto start = std::chrono::steady_clock::now();
    Graph next = pass.run(graph_, context_);
    if (has_dead_nodes(next)) next = ir::without_dead_nodes(next);
    const bool changed = !ir::equal(graph_, next);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    const PassRun done{pass.name, changed, graph_.size(), next.size(), time.count()};
    if (changed) graph_ = std::move(next);
    report(done);
    return changed;
  }

  /// Runs the passes in turn until none of them finds anything to do, a bounded number of times.
  void run_until_unchanged(std::initializer_list<NamedPass> group) {
    constexpr int most_rounds = 6;
    std::size_t unchanged = 0;
    for (int round = 0; round < most_rounds; ++round)
      for (const NamedPass& pass : group) {
        unchanged = run(pass) ? 0 : unchanged + 1;
        if (unchanged >= group.size()) return;
      }
  }

  Graph finish() && { return std::move(graph_); }

 private:
  static std::string names() {
    std::string list;
    for (const NamedPass& p : passes) list += fmt::format("{}{}", list.empty() ? "" : ", ", p.name);
    return list;
  }

  static bool has_dead_nodes(const Graph& g) {
    const std::vector<std::uint32_t> last = ir::last_readers(g);
    for (std::uint32_t id = 0; id < g.size(); ++id)
      if (last[id] == ir::never_read && g.op(ir::Value{id}) != ir::Op::input) return true;
    return false;
  }

  void report(const PassRun& done) {
    if (trace_) trace_->push_back(done);
    if (!done.changed)
      log(Topic::graph, "{}: {}: unchanged, {:.2f} ms", graph_.name(), done.name, done.milliseconds);
    else
      log(Topic::graph, "{}: {}: {} nodes become {}, {:.2f} ms", graph_.name(), done.name, done.nodes_before,
          done.nodes_after, done.milliseconds);
    if (done.changed) dump(done.name);
    if (done.changed && verifies()) verify_after(done.name);
  }

  static bool verifies() {
#ifdef SINTER_DEBUG_VERIFY
    return true;
#else
    return settings().debug_verify;
#endif
  }

  void verify_after(std::string_view pass) const {
    try {
      ir::verify(graph_);
    } catch (const InternalError& error) {
      fail<InternalError>("after the pass {}: {}", pass, error.what());
    }
  }

  void dump(std::string_view stage) {
    if (!dump_prefix_.empty())
      write_dump(fmt::format("{}_{:02}_{}", dump_prefix_, dumped_++, stage), ".txt", ir::print(graph_));
  }

  Graph graph_;
  const PassContext& context_;
  PassTrace* trace_;
  std::vector<std::string> disabled_;
  std::string dump_prefix_;
  int dumped_ = 0;
};

}  // namespace

std::span<const NamedPass> all_passes() {
  return passes;
}

namespace {

bool has_scatters(const Graph& graph) {
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    if (ir::is_scatter(graph.op(ir::Value{id}))) return true;
  return false;
}

}  // namespace

Graph optimize(const Graph& graph, const PassContext& context, PassTrace* trace) {
  Driver driver(graph, context, trace);
  if (!context.library.whole_numbers) driver.run(lowering);
  if (has_scatters(graph)) driver.run(ordering);
  driver.run_until_unchanged({merging, simplifying, folding});
  driver.run(deciding);
  driver.run_until_unchanged({simplifying, folding, merging});
  driver.run(contracting);
  driver.run(sinking);
  driver.run(simplifying);
  if (context.library.adds_bias) driver.run(joining);
  if (!context.library.any_strides) driver.run(copying);
  return std::move(driver).finish();
}

}  // namespace sinter::passes
