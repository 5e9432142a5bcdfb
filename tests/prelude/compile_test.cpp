// Every function of the prelude, at every element type that its operation admits, as each compiler takes it.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/prelude.h"
#include "ir/op.h"
#include "runtime/subprocess.h"
#include "tests/catch.h"
#include "tests/support/compile_source.h"

namespace sinter::codegen {
namespace {

using testing::replaced;

/// Small kernels that between them call every function of the op table and every conversion.
std::string kernels_of_every_operation() {
  std::string text;
  for (const ir::Op op : ir::all_ops) {
    if (!ir::is_elementwise(op) || op == ir::Op::cast) continue;
    const ir::ElementwiseInfo& info = ir::elementwise_info(op);
    for (DType t : all_dtypes) {
      if (is_16bit_float(t) || !ir::admits(info.rule, t)) continue;  // 16-bit floats are computed in f32
      std::string value = replaced(info.emit, "$0", info.rule == ir::DTypeRule::select ? "(*a > *b)" : "*a");
      value = replaced(replaced(value, "$1", "*b"), "$2", "*c");
      text += fmt::format("ENTRY void {0}_{1}({1}* out, {1}* a, {1}* b, {1}* c) {{ *out = ({1})({2}); }}\n",
                          ir::name(op), name(t), value);
    }
  }
  for (DType from : all_dtypes)
    for (DType to : all_dtypes)
      text += fmt::format("ENTRY void cast_{0}_{1}({1}* out, {0}* a) {{ *out = to_{1}(*a); }}\n", name(from),
                          name(to));
  text += "ENTRY void draw(int32* out, int64* a) { *out = random_bits(a[0], a[1], a[2]); }\n";
  text +=
      "ENTRY void search(int64* out, int64* a) { *out = count_below(a, 8, 1, *out) + merged(a, 8, 1, *out, "
      "2); }\n";
  return "namespace sinter {\n" + text + "}\n";
}

/// The same with what threads do together, at every type that it is there for.
std::string cuda_kernels() {
  std::string text;
  for (DType t :
       {DType::f64, DType::f32, DType::int8, DType::uint8, DType::int32, DType::int64, DType::boolean})
    text += fmt::format("ENTRY void xor_{0}({0}* x) {{ *x = shuffle_xor(*x, 1); }}\n", name(t));
  for (DType t : {DType::f64, DType::f32, DType::int32, DType::int64})
    text += fmt::format("ENTRY void from_{0}({0}* x) {{ *x = shuffle_down(*x, 1) + shuffle_from(*x, 2); }}\n",
                        name(t));
  text += "ENTRY void wait() { sync_warp(); sync_block(); }\n";
  text += "ENTRY void leave_gaps(uint32* x) { *x = skewed<64, 4>(*x); }\n";
  text +=
      "ENTRY void last(uint32* counter, f32* x) { if (arrive_last(counter, 8)) *x = "
      "*dynamic_shared<f32>(64); }\n";
  return kernels_of_every_operation() + "namespace sinter {\n" + text + "}\n";
}

/// What is there from sm_90 on.
std::string hopper_kernels() {
  std::string text =
      "ENTRY void copy(f32* to, const f32* from) { bulk_barrier* bar = dynamic_shared<bulk_barrier>(); "
      "f32* row = dynamic_shared<f32>(128); bulk_prefetch(from + 64, 256); bulk_init(bar); bulk_load(row, "
      "from, "
      "256, bar); sync_block(); bulk_wait(bar, 0); *to = *row; }\n"
      "ENTRY void keep(const f32* from) { bulk_prefetch_outlasting(from, 256); "
      "bulk_load_outlasting(dynamic_shared<f32>(128), from, 256, dynamic_shared<bulk_barrier>()); }\n";
  for (DType t : all_dtypes)
    text += fmt::format(
        "ENTRY void stay_{0}({0}* to, const {0}* from) {{ const uint64 policy = outlasting(); "
        "store_vec<1>(to, "
        "load_vec_outlasting<1, 16>(from, policy)); "
        "store_vec<2>(to, load_vec_outlasting<2, 16>(from, policy)); }}\n"
        "ENTRY void pass_{0}({0}* x) {{ cluster_arrive(); cluster_wait(); "
        "store_to_block(dynamic_shared<{0}>(), "
        "cluster_rank() ^ 1, *x); cluster_arrive(); cluster_wait(); *x = *dynamic_shared<{0}>(); }}\n",
        name(t));
  return "namespace sinter {\n" + text + "}\n";
}

/// Compiles a source; what the compiler said.
std::string compile(const std::vector<std::string>& compiler, const std::string& source,
                    const std::string& file) {
  const testing::CompiledSource compiled = testing::compile_source(compiler, source, file);
  INFO(compiled.messages);
  CHECK(compiled.ok);
  return compiled.messages;
}

std::vector<std::string> host_compiler() {
  return {SINTER_TEST_CXX,         "-std=c++20",           "-Wall", "-Wextra",
          "-Wno-unused-parameter", "-Wno-unknown-pragmas", "-O1",   "-c"};
}

TEST_CASE("the whole prelude compiles for the host without a warning") {
  const std::string kernels = kernels_of_every_operation();
  CHECK(compile(host_compiler(), "#define ENTRY extern \"C\"\n" + prelude(kernels, Backend::cpu) + kernels,
                "all.cpp") == "");
}

TEST_CASE("the prelude of CUDA kernels compiles without CUDA too") {
  const std::string kernels = cuda_kernels() + hopper_kernels();
  CHECK(compile(host_compiler(), "#define ENTRY extern \"C\"\n" + prelude(kernels, Backend::cuda) + kernels,
                "all.cpp") == "");
}

TEST_CASE("the part of the prelude that belongs to one name compiles alone") {
  std::string source;
  for (std::string_view name : prelude_names(Backend::cpu)) {
    source +=
        replaced(prelude(name, Backend::cpu), "namespace sinter", fmt::format("namespace alone_{}", name));
  }
  CHECK(compile({SINTER_TEST_CXX, "-std=c++20", "-w", "-fsyntax-only"}, source, "alone.cpp") == "");
}

TEST_CASE("g++ turns every f32 function into vector instructions") {
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
  std::string loops;
  for (const char* call : {"exp(a[i])",
                           "exp2(a[i])",
                           "expm1(a[i])",
                           "log(a[i])",
                           "log2(a[i])",
                           "log10(a[i])",
                           "log1p(a[i])",
                           "sin(a[i])",
                           "cos(a[i])",
                           "tan(a[i])",
                           "asin(a[i])",
                           "acos(a[i])",
                           "atan(a[i])",
                           "sinh(a[i])",
                           "cosh(a[i])",
                           "tanh(a[i])",
                           "asinh(a[i])",
                           "acosh(a[i])",
                           "atanh(a[i])",
                           "erf(a[i])",
                           "erfc(a[i])",
                           "sqrt(a[i])",
                           "rsqrt(a[i])",
                           "reciprocal(a[i])",
                           "sign(a[i])",
                           "round(a[i])",
                           "floor(a[i])",
                           "pow(a[i], b[i])",
                           "atan2(a[i], b[i])",
                           "hypot(a[i], b[i])",
                           "maximum(a[i], b[i])",
                           "floor_divide(a[i], b[i])",
                           "to_f32(to_f16(a[i]))",
                           "to_f32(to_bf16(a[i]))",
                           "to_f32(to_int32(a[i]))",
                           "to_f32(random_bits(1, 2, i))"})
    loops += fmt::format(
        "void loop{}(f32* __restrict out, const f32* __restrict a, const f32* __restrict b, int64 n) "
        "{{\n#pragma omp simd\nfor (int64 i = 0; i < n; ++i) out[i] = {} + b[i];\n}}\n",
        loops.size(), call);
  for (const char* type : {"f16", "bf16"})
    loops += fmt::format(
        "void loop_{0}({0}* __restrict out, const {0}* __restrict a, int64 n) "
        "{{\n#pragma omp simd\nfor (int64 i = 0; i < n; ++i) out[i] = to_{0}(tanh(to_f32(a[i])));\n}}\n",
        type);
  loops = "namespace sinter {\n" + loops + "}\n";
  std::vector<std::string> compiler = host_compiler();
  compiler.insert(compiler.end(), {"-O3", "-march=x86-64-v3", "-fopenmp-simd", "-ffp-contract=off",
                                   "-fno-math-errno", "-fno-trapping-math", "-fopt-info-vec-missed"});
  const std::string notes = compile(compiler, prelude(loops, Backend::cpu) + loops, "loops.cpp");
  for (std::size_t at = 0; (at = notes.find("couldn't vectorize loop", at)) != notes.npos; ++at)
    FAIL_CHECK(notes.substr(notes.rfind('\n', at) + 1, 200));
#else
  SINTER_SKIP("only g++ on x86-64 is asked what it vectorised");
#endif
}

TEST_CASE("the whole prelude compiles for NVIDIA's architectures, oldest and newest") {
  const std::string nvcc = runtime::find_program("nvcc");
  if (nvcc.empty()) SINTER_SKIP("no nvcc on PATH");
  for (const char* arch : {"sm_75", "sm_90a"}) {
    const bool hopper = std::string_view(arch) == "sm_90a";
    const std::string kernels = cuda_kernels() + (hopper ? hopper_kernels() : "");
    const std::string source =
        "#define ENTRY extern \"C\" __global__\n" + prelude(kernels, Backend::cuda) + kernels;
    CHECK(compile({nvcc, "-std=c++17", "-fmad=false", "-cubin", fmt::format("-arch={}", arch)}, source,
                  "all.cu") == "");
  }
}

}  // namespace
}  // namespace sinter::codegen
