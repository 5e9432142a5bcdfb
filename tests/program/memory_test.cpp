// No kernel reads or writes beyond what it is given: inputs, outputs and working memory end, or begin, where
// pages without access do.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>

#include "codegen/lower.h"
#include "codegen/source.h"
#include "passes/pipeline.h"
#include "runtime/kernel_cache.h"
#include "tests/program/check.h"
#include "tests/support/guarded_memory.h"

using namespace sinter;
using namespace sinter::testing;
using ir::Value;

namespace {

using Against = GuardedMemory::Against;

/// Runs a program's kernels over guarded memory.
class GuardedRun {
 public:
  GuardedRun(const ir::Graph& captured, const std::vector<ir::Array>& inputs, Against edge)
      : g_(passes::optimize(captured, {Numerics::standard})), edge_(edge) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto bytes = static_cast<std::int64_t>(inputs[i].data.size());
      std::byte* const place = reserve(g_.inputs()[i], bytes);
      if (bytes != 0) std::memcpy(place, inputs[i].data.data(), inputs[i].data.size());
    }
  }

  /// Outputs that are stored as they are; the others are checked elsewhere.
  std::vector<ir::Array> run() {
    std::vector<std::optional<ir::View>> views = passes::memory_views(g_);
    const passes::Partition partition = passes::fuse(g_);
    for (const passes::Group& group : partition.groups)
      for (Value v : group.outputs) {
        views[v.id] = ir::View{v, 0, ir::contiguous_strides(g_.shape(v))};
        reserve(v, g_.shape(v).elements().value() * size_of(g_.dtype(v)));
      }
    for (const passes::Group& group : partition.groups) run_kernel(codegen::lower(g_, group, views));
    std::vector<ir::Array> results;
    for (const ir::Output& out : g_.outputs()) {
      ir::Array& a = results.emplace_back(g_.dtype(out.value), g_.shape(out.value).values());
      if (!a.data.empty()) std::memcpy(a.data.data(), memory_.at(out.value)->data(), a.data.size());
    }
    return results;
  }

 private:
  std::byte* reserve(Value v, std::int64_t bytes) {
    auto& block = memory_[v];
    block = std::make_unique<GuardedMemory>(bytes, edge_);
    return block->data();
  }

  void run_kernel(const codegen::Kernel& kernel) {
    const codegen::Target cpu = codegen::Target::cpu();
    const codegen::KernelSource source =
        codegen::emit(kernel, codegen::choose_schedule(kernel, codegen::describe(cpu)), cpu);
    std::vector<std::byte> block(static_cast<std::size_t>(source.param_bytes));
    auto put = [&](int offset, auto value) { std::memcpy(block.data() + offset, &value, sizeof value); };
    int phase_offset = -1;
    for (const codegen::KernelParam& p : source.params) switch (p.kind) {
        case codegen::KernelParam::Kind::buffer:
          put(p.offset, memory_.at(kernel.buffers[static_cast<std::size_t>(p.buffer)].value)->data());
          break;
        case codegen::KernelParam::Kind::length:
          put(p.offset, p.length.value());
          break;
        case codegen::KernelParam::Kind::literal:
          std::memcpy(block.data() + p.offset, &p.literal.bits,
                      static_cast<std::size_t>(size_of(p.literal.dtype)));
          break;
        case codegen::KernelParam::Kind::phase:
          phase_offset = p.offset;
          break;
        case codegen::KernelParam::Kind::scratch:
          break;  // there are none on the CPU
      }
    std::int64_t scratch_bytes = 0;
    for (const codegen::ScratchArray& a : source.scratch)
      scratch_bytes += (a.elements.value() * a.element_bytes + 63) / 64 * 64;
    const GuardedMemory scratch(scratch_bytes, edge_);
    const auto compiled = runtime::kernel_cache().get_or_compile(
        {source.name, source.text, source.header + source.text, source.name});
    for (std::int64_t phase = 0; phase < source.phases; ++phase) {
      if (phase_offset >= 0) put(phase_offset, phase);
      const std::int64_t units = source.units.value();
      runtime::host_entry (*compiled)(block.data(), 0, units / 2, scratch.data());
      runtime::host_entry (*compiled)(block.data(), units / 2, units, scratch.data());
    }
  }

  ir::Graph g_;
  Against edge_;
  std::map<Value, std::unique_ptr<GuardedMemory>> memory_;
};

void check(const std::string& text, const std::vector<ir::Array>& inputs) {
  INFO(text);
  const ir::Graph g = ir::parse(text);
  const std::vector<ir::Exact> expected = ir::evaluate_reference(g, inputs);
  for (Against edge : {Against::end, Against::start}) {
    const std::vector<ir::Array> got = GuardedRun(g, inputs, edge).run();
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(mismatch(got[i], expected[i]) == "");
  }
}

}  // namespace

TEST_CASE("elementwise kernels stay within their tensors") {
  for (std::int64_t n : {1, 3, 31, 33, 1000, 8193})
    for (DType t : {f32, f16, DType::boolean})
      check(fmt::format(
                "graph @g(%x: {1}[{0}], %y: {1}[{0}]) {{\n  return maximum(%x, %y), equal(%x, %y)\n}}\n", n,
                name(t)),
            {whole_numbers(t, {n}), whole_numbers(t, {n}, 1)});
}

TEST_CASE("rows, columns, runs and pieces stay within their tensors and working memory") {
  for (std::int64_t n : {1, 3, 31, 33, 1000, 1025, 131075}) {
    const std::vector<ir::Array> row{whole_numbers(f32, {3, n})};
    // exp is dear, so that it is kept in working memory between the walks; of nothing but 0 it is exact.
    check(fmt::format("graph @rows(%x: f32[3, {}]) {{\n  %z = sub(%x, max(%x, axes=[1], keepdims=true))\n"
                      "  %e = exp(mul(%z, 0))\n  %s = sum(%e, axes=[1], keepdims=true)\n  return add(%e, "
                      "%s), argmax(%x, axes=[1])\n}}\n",
                      n),
          row);
    if (n > 2000) continue;
    for (std::int64_t columns : {2, 9, 64, 67})
      check(fmt::format("graph @columns(%x: f32[{}, {}]) {{\n  %e = exp(mul(%x, 0))\n  %s = sum(%e, "
                        "axes=[0], keepdims=true)\n"
                        "  return add(%e, %s), argmin(%x, axes=[0])\n}}\n",
                        n, columns),
            {whole_numbers(f32, {n, columns})});
    if (n < 64 && n > 1)
      check(fmt::format(
                "graph @short(%x: f32[67, {}]) {{\n  return sub(%x, sum(%x, axes=[1], keepdims=true))\n}}\n",
                n),
            {whole_numbers(f32, {67, n})});
    check(fmt::format(
              "graph @transposed(%x: f32[{}, 67]) {{\n  return neg(permute_dims(%x, axes=[1, 0]))\n}}\n", n),
          {whole_numbers(f32, {n, 67})});
    check(fmt::format("graph @runs(%x: f32[2, 3, {}]) {{\n  %s = sum(%x, axes=[0, 2], keepdims=true)\n  "
                      "return sub(%x, %s)\n}}\n",
                      n),
          {whole_numbers(f32, {2, 3, n})});
  }
}

TEST_CASE("padded, joined and shifted tensors are read only where they are") {
  for (std::int64_t n : {1, 3, 31, 100}) {
    check(fmt::format("graph @pad(%x: f32[{}]) {{\n  return pad(%x, before=[70], after=[33], value=5)\n}}\n",
                      n),
          {whole_numbers(f32, {n})});
    check(fmt::format(
              "graph @concat(%x: f32[{0}], %y: f32[3]) {{\n  return add(concat(%x, %y, %x, axis=0), 1)\n}}\n",
              n),
          {whole_numbers(f32, {n}), whole_numbers(f32, {3}, 2)});
    check(fmt::format("graph @sum(%x: f32[2, {}]) {{\n  return sum(pad(%x, before=[0, 40], after=[1, 9], "
                      "value=2), axes=[1])\n}}\n",
                      n),
          {whole_numbers(f32, {2, n})});
  }
}

TEST_CASE("gathers out of range read NaN or zero, and no memory") {
  for (DType t : {f32, int32}) {
    const double infinite = 1e18;
    const ir::Array index = vector_of(
        int64, {0, 4, 5, -1, -5, -6, infinite, -infinite, 4294967296.0, 4294967297.0, 2147483648.0});
    check(fmt::format("graph @take(%x: {}[5, 3], %i: int64[11]) {{\n  return take(%x, %i, axis=0), take(%x, "
                      "%i, axis=1)\n}}\n",
                      name(t)),
          {whole_numbers(t, {5, 3}), index});
    check(fmt::format(
              "graph @along(%x: {}[5], %i: int64[11]) {{\n  return take_along_axis(%x, %i, axis=0)\n}}\n",
              name(t)),
          {whole_numbers(t, {5}), index});
    check(fmt::format("graph @folded(%x: {}[5, 7], %i: int64[11]) {{\n  return max(take(%x, %i, axis=0), "
                      "axes=[1]), sum(cast(take(%x, %i, axis=0), dtype=int64), axes=[0])\n}}\n",
                      name(t)),
          {whole_numbers(t, {5, 7}), index});
  }
  check("graph @none(%x: f32[0, 3], %i: int64[2]) {\n  return take(%x, %i, axis=0)\n}\n",
        {ir::Array(f32, {0, 3}), vector_of(int64, {0, -1})});
}
