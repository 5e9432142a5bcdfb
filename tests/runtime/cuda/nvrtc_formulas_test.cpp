// Kernels of formulas that no workload has, through NVRTC: none spills, whatever dtypes lie beside each other
// and however much is computed from them. No GPU is needed.
#include <fmt/format.h>

#include "codegen/candidates.h"
#include "codegen/device.h"
#include "ir/parse.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/kernel_report.h"
#include "runtime/program_impl.h"
#include "tests/catch.h"

using namespace sinter;
using runtime::nvrtc;

namespace {

struct Formula {
  std::string graph, arch;
};

/// Every kernel of the formulas keeps its threads' values in registers.
void check_spills(const std::vector<Formula>& formulas) {
  std::vector<codegen::Kernel> kernels;
  std::vector<codegen::KernelSource> sources;
  std::vector<const Formula*> of;
  for (const Formula& f : formulas) {
    INFO(f.graph);
    runtime::ProgramOptions options;
    options.target = codegen::Target::cuda(f.arch);
    const auto program = runtime::Program::build(ir::parse(f.graph), options);
    for (std::size_t i = 0; i < program->impl().kernels.size(); ++i) {
      kernels.push_back(program->impl().kernels[i]);
      sources.push_back(program->impl().sources[i]);
      of.push_back(&f);
    }
  }
  const std::vector<runtime::KernelReport> reports = runtime::report_kernels(kernels, sources);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    INFO(of[i]->arch << ", " << sources[i].schedule.str() << "\n" << of[i]->graph);
    REQUIRE(reports[i].resources);
    CHECK(reports[i].resources->spill_bytes == 0);
    // ptxas may set up a frame for a register or two that it then does not spill.
    CHECK(reports[i].resources->stack_bytes <= 8);
  }
}

std::string graph(std::string_view inputs, std::string_view body) {
  return fmt::format("graph @f({}) {{\n{}}}\n", inputs, body);
}

/// The same numbers everywhere, unlike those of <random>'s distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()(std::uint64_t sides) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % sides;
  }
  template <class T, std::size_t n>
  T of(const T (&list)[n]) {
    return list[(*this)(n)];
  }
  const std::string& of(const std::vector<std::string>& list) { return list[(*this)(list.size())]; }

 private:
  std::uint64_t state_;
};

/// A few elementwise functions of a few tensors, one or two folds of them along an axis, what that gives at
/// each element, and some of what lies between as results.
std::string random_formula(Dice& dice) {
  constexpr const char* mixes[][3] = {
      {"f32", "bf16", "bf16"},   {"f32", "uint8", "uint8"}, {"f32", "f64", "f32"},
      {"bf16", "uint8", "bf16"}, {"f32", "int64", "bf16"},  {"f64", "uint8", "uint8"},
      {"f16", "int8", "f32"},    {"f32", "f32", "f32"},     {"bf16", "bf16", "bf16"}};
  constexpr int rows[] = {1, 8, 64, 4096},
                lengths[] = {777, 4096, 5000, 5001, 8192, 12288, 14336, 65536, 100000, 100001, 262144};
  constexpr const char* of_one[] = {"exp", "tanh", "abs"};
  constexpr const char* of_two[] = {"add", "sub", "mul", "maximum", "div"};
  const auto& mix = mixes[dice(std::size(mixes))];
  const int length = dice.of(lengths);
  const std::string full = fmt::format("{}, {}", dice.of(rows), length),
                    same_for_rows = fmt::format("1, {}", length);
  std::string inputs, body;
  std::vector<std::string> values, computed;
  for (std::uint64_t i = 0, count = 2 + dice(5); i < count; ++i) {
    const std::string& shape = i > 0 && dice(4) == 0 ? same_for_rows : full;
    inputs += fmt::format("{}%i{}: {}[{}]", i ? ", " : "", i, dice.of(mix), shape);
    values.push_back(fmt::format("%i{}", i));
  }
  for (std::uint64_t i = 0, count = 2 + dice(7); i < count; ++i) {
    const std::string name = fmt::format("%e{}", i);
    if (dice(8) < 3)
      body += fmt::format("  {} = {}({})\n", name, dice.of(of_one), dice.of(values));
    else
      body += fmt::format("  {} = {}({}, {})\n", name, dice.of(of_two), values.back(), dice.of(values));
    values.push_back(name);
    computed.push_back(name);
  }
  const std::uint64_t axis = dice(4) == 0 ? 0 : 1, folds = 1 + dice(2);
  for (std::uint64_t i = 0; i < folds; ++i)
    body += fmt::format("  %r{} = {}({}, axes=[{}], keepdims=true)\n", i, dice(3) == 0 ? "max" : "sum",
                        dice.of(computed), axis);
  std::string results = "%r0";
  if (dice(5) < 3) {
    body += fmt::format("  %z = div({}, add(%r{}, 1.0))\n", values.back(), folds - 1);
    results = "%z";
  }
  for (const std::string& v : computed)
    if (dice(4) == 0) results += ", " + v;
  return graph(inputs, body + "  return " + results + "\n");
}

void need_nvrtc() {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
}

}  // namespace

TEST_CASE("columns that are walked more than once spill nothing") {
  need_nvrtc();
  const std::string softmax =
      "  %e = exp(sub(%y, max(%y, axes=[0], keepdims=true)))\n"
      "  %z = div(%e, sum(%e, axes=[0], keepdims=true))\n";
  std::vector<Formula> all;
  for (const char* arch : {"sm_75", "sm_90a", "sm_120"}) {
    for (const char* dtype : {"bf16", "f64"})
      all.push_back({graph(fmt::format("%y: {}[1024, 4096]", dtype), softmax + "  return %z\n"), arch});
    all.push_back({graph("%x: bf16[1024, 4096]", "  %y = tanh(%x)\n" + softmax + "  return %z, %y\n"), arch});
  }
  check_spills(all);
}

TEST_CASE("narrow dtypes beside wide ones spill nothing") {
  need_nvrtc();
  std::vector<Formula> all;
  for (const char* arch : {"sm_75", "sm_90a", "sm_120"}) {
    all.push_back({graph("%a: f32[4096, 16384], %c: uint8[4096, 16384], %b: f32[4096, 16384]",
                         "  %m = mul(%a, %c)\n"
                         "  return sum(%m, axes=[1]), exp(%m), add(%b, %m)\n"),
                   arch});
    all.push_back({graph("%a: f32[4096], %b: f32[4096], %c: uint8[4096]",
                         "  %m = mul(mul(%a, %b), %c)\n"
                         "  return %m, sum(%m), mul(%a, %c), add(%b, %c)\n"),
                   arch});
    all.push_back({graph("%a: bool[4096], %b: int8[4096], %c: uint8[4096], %d: int32[4096], %e: int32[4096], "
                         "%f: int64[4096], %g: f16[4096], %h: bf16[4096], %i: f64[4096]",
                         "  %q = floor_divide(sub(mul(add(add(%a, %b), %c), %d), %e), %f)\n"
                         "  return add(mul(add(%g, %h), %q), %i), sum(%q), %q\n"),
                   arch});
    all.push_back({graph("%a: uint8[4096, 100000]", "  return max(abs(%a), axes=[1])\n"), arch});
    all.push_back({graph("%a: uint8[4096, 65536], %b: f64[4096, 65536]",
                         "  %e = exp(mul(%a, %b))\n"
                         "  return div(%e, sum(%e, axes=[1], keepdims=true))\n"),
                   arch});
  }
  check_spills(all);
}

TEST_CASE("kernels that share a launch are found without a copy of their parameters") {
  need_nvrtc();
  const std::string text = graph("%a: f32[8, 100000], %b: f32[8, 100000]", "  return exp(%a), exp(%b)\n");
  check_spills({{text, "sm_75"}, {text, "sm_90a"}});
}

TEST_CASE("a column divides what it has once by what it has folded") {
  need_nvrtc();
  for (const int columns : {777, 4096})
    check_spills({{graph(fmt::format("%a: bf16[8, {0}], %b: bf16[1, {0}]", columns),
                         "  %r = add(sum(%a, axes=[0], keepdims=true), 1.0)\n  return div(tanh(%b), %r)\n"),
                   "sm_90a"}});
}

TEST_CASE("a walk that continues another restores what that has not computed anew") {
  need_nvrtc();
  for (const char* arch : {"sm_75", "sm_80", "sm_90a"})
    check_spills({{graph("%x: f16[2, 2047], %w: f64[2047], %v: f16[1, 2047], %q: f16[2, 1]",
                         "  %e = exp(%x)\n  %s = sum(mul(%e, %e), axes=[1], keepdims=true)\n"
                         "  %a = add(div(%e, sqrt(%s)), %w)\n"
                         "  %d = sub(%a, mul(sum(%a, axes=[1], keepdims=true), 0.000488519785))\n"
                         "  %t = sum(mul(%d, %d), axes=[1], keepdims=true)\n"
                         "  return cast(div(maximum(%t, %v), %q), dtype=f16)\n"),
                   arch}});
}

TEST_CASE("wide vectors beside narrow rows of odd lengths stay in registers") {
  need_nvrtc();
  for (const char* arch : {"sm_75", "sm_80", "sm_90a"})
    for (const char* wide : {"f32", "int32", "f64"})
      for (const char* narrow : {"bf16", "int8"})
        check_spills({{graph(fmt::format("%x: {}[8192, 1001], %w: {}[1001]", narrow, wide),
                             fmt::format("  %s = sum(mul(%x, %x), axes=[1], keepdims=true)\n"
                                         "  return cast(mul(mul(%x, %s), %w), dtype={})\n",
                                         narrow)),
                       arch}});
}

TEST_CASE("many vectors that are the same for all rows spill nothing") {
  need_nvrtc();
  std::vector<Formula> all;
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"})
    for (const int length : {4096, 12288, 20480, 28672}) {
      std::string inputs = fmt::format("%x: f32[16384, {}]", length), sum = "%n";
      std::string body = "  %n = div(%x, sqrt(sum(mul(%x, %x), axes=[1], keepdims=true)))\n";
      for (int i = 0; i < 5; ++i) {
        inputs += fmt::format(", %w{}: f32[{}]", i, length);
        body += fmt::format("  %s{0} = {2}({1}, %w{0})\n", i, sum, i % 2 == 0 ? "mul" : "add");
        sum = fmt::format("%s{}", i);
        if (i >= 2) all.push_back({graph(inputs, body + "  return " + sum + "\n"), arch});
      }
    }
  check_spills(all);
}

TEST_CASE("rows that blocks share and fold in many ways spill nothing, however many blocks would fit") {
  need_nvrtc();
  std::vector<Formula> formulas;
  for (const char* dtype : {"f64", "f32"}) {
    std::string body =
        "  %d = sub(%x, mul(sum(%x, axes=[1], keepdims=true), 0.00006103515625))\n"
        "  %l = mul(%d, rsqrt(add(sum(mul(%d, %d), axes=[1], keepdims=true), 0.01)))\n"
        "  %e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n"
        "  %q = div(%e, sum(%e, axes=[1], keepdims=true))\n";
    std::string results = "%l, %q";
    constexpr const char* folds[] = {"sum", "max", "min", "argmax"};
    for (int i = 0; i < 12; ++i) {
      body += fmt::format("  %s{0} = {1}(maximum(%x, {0}.5), axes=[1])\n", i, folds[i % 4]);
      results += fmt::format(", %s{}", i);
    }
    for (const char* shape : {"[512, 16384]", "[512, 150000]"})
      formulas.push_back(
          {graph(fmt::format("%x: {}{}", dtype, shape), body + "  return " + results + "\n"), "sm_90a"});
  }
  check_spills(formulas);
}

TEST_CASE("what autotuning tries for rows with many places to find fits shared memory") {
  need_nvrtc();
  std::string body, results;
  for (int i = 0; i < 6; ++i) {
    body += fmt::format("  %a{0} = argmax(mul(%x, {0}.5), axes=[1], keepdims=true)\n", i);
    results += fmt::format("%a{}, ", i);
  }
  body += "  %m = max(%x, axes=[1], keepdims=true)\n";
  runtime::ProgramOptions options;
  options.target = codegen::Target::cuda("sm_90a");
  const auto program = runtime::Program::build(
      ir::parse(graph("%x: f64[512, 110000]", body + "  return " + results + "sub(%x, %m)\n")), options);
  const codegen::DeviceDescription& device = codegen::describe(options.target);
  std::vector<codegen::Kernel> kernels;
  std::vector<codegen::KernelSource> sources;
  for (std::size_t i = 0; i < program->impl().kernels.size(); ++i) {
    const codegen::Kernel& kernel = program->impl().kernels[i];
    for (const codegen::Schedule& s :
         codegen::candidates(kernel, program->impl().sources[i].schedule, device)) {
      kernels.push_back(kernel);
      sources.push_back(codegen::emit(kernel, s, options.target));
    }
  }
  CHECK(sources.size() > 1);
  const std::vector<runtime::KernelReport> reports = runtime::report_kernels(kernels, sources);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    INFO(sources[i].schedule.str());
    REQUIRE(reports[i].resources);
    CHECK(reports[i].resources->shared_bytes <= device.shared_bytes_per_block);
  }
}

TEST_CASE("formulas drawn at random spill nothing") {
  need_nvrtc();
  constexpr const char* architectures[] = {"sm_75", "sm_80", "sm_90a", "sm_100", "sm_120"};
  std::vector<Formula> all;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    std::string formula = random_formula(dice);
    all.push_back({std::move(formula), architectures[seed % std::size(architectures)]});
  }
  check_spills(all);
}
