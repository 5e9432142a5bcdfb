// Every distinct kernel of the suite's workloads through NVRTC, for every architecture that it knows: what is
// compiled, what it uses, and how wide its loads and stores are. No GPU is needed.
#include <fmt/format.h>
#include <sinter/sinter.h>

#include <algorithm>

#include "codegen/candidates.h"
#include "codegen/device.h"
#include "ir/parse.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/kernel_report.h"
#include "runtime/program_impl.h"
#include "samples/suite/workload.h"
#include "tests/catch.h"

using namespace sinter;
using runtime::nvrtc;

namespace {

constexpr const char* float_dtypes[] = {"f32", "bf16", "f16"};

void need_nvrtc() {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
}

std::shared_ptr<const runtime::Program> lowered(const suite::Workload& workload,
                                                const suite::Choices& choices, const std::string& arch) {
  const suite::Parameters parameters(workload.parameters, choices);
  std::vector<GraphInput> inputs;
  for (const suite::Input& input : workload.inputs(parameters))
    inputs.push_back({input.name, {input.dtype, input.shape}});
  const auto function = GraphFunction::record(workload.name, inputs, [&](const suite::Tensors& tensors) {
    return workload.formula(tensors, parameters);
  });
  return function.lower(Target(arch)).impl();
}

/// Kernels, with what each is called in messages.
struct Kernels {
  std::vector<codegen::Kernel> kernels;
  std::vector<codegen::KernelSource> sources;
  std::vector<std::string> titles;

  void add(const suite::Workload& workload, const suite::Choices& choices, const std::string& arch) {
    std::string set;
    for (const auto& [name, value] : choices) set += fmt::format(" {}={}", name, value);
    const auto program = lowered(workload, choices, arch);
    for (std::size_t i = 0; i < program->impl().kernels.size(); ++i) {
      kernels.push_back(program->impl().kernels[i]);
      sources.push_back(program->impl().sources[i]);
      titles.push_back(fmt::format("{} of {}{} for {}", kernels.back().name, workload.name, set, arch));
    }
  }
  /// Those of a graph in text form.
  void add(const std::string& text, const std::string& arch) {
    runtime::ProgramOptions options;
    options.target = codegen::Target::cuda(arch);
    const auto program = runtime::Program::build(ir::parse(text), options);
    for (std::size_t i = 0; i < program->impl().kernels.size(); ++i) {
      kernels.push_back(program->impl().kernels[i]);
      sources.push_back(program->impl().sources[i]);
      titles.push_back(fmt::format("{} of\n{}for {}", kernels.back().name, text, arch));
    }
  }
  /// The same under all other schedules that autotuning would try.
  void add_candidates(const suite::Workload& workload, const suite::Choices& choices,
                      const std::string& arch) {
    Kernels chosen;
    chosen.add(workload, choices, arch);
    for (std::size_t i = 0; i < chosen.kernels.size(); ++i) {
      const codegen::KernelSource& source = chosen.sources[i];
      const std::vector<codegen::Schedule> all =
          codegen::candidates(chosen.kernels[i], source.schedule, codegen::describe(source.target));
      INFO(chosen.titles[i]);
      CHECK(all.size() <= codegen::most_candidates);
      CHECK(all[0] == source.schedule);
      for (std::size_t j = 1; j < all.size(); ++j) {
        CHECK(std::ranges::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(j), all[j]) ==
              all.begin() + static_cast<std::ptrdiff_t>(j));
        kernels.push_back(chosen.kernels[i]);
        sources.push_back(codegen::emit(chosen.kernels[i], all[j], source.target));
        titles.push_back(fmt::format("{}, {}", chosen.titles[i], codegen::identity(all[j])));
      }
    }
  }
  std::vector<runtime::KernelReport> reports() const { return runtime::report_kernels(kernels, sources); }
};

/// Every kernel compiles, keeps its threads' values in registers, and a block of it fits a multiprocessor.
std::vector<runtime::KernelReport> fitting_reports(const Kernels& all) {
  std::vector<runtime::KernelReport> reports = all.reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    INFO(all.titles[i]);
    REQUIRE(reports[i].resources);
    CHECK(reports[i].resources->spill_bytes == 0);
    CHECK(reports[i].resources->stack_bytes == 0);
    const codegen::KernelSource& source = all.sources[i];
    const codegen::DeviceDescription& device = codegen::describe(source.target);
    CHECK(reports[i].resources->registers * source.schedule.block_threads <= device.registers_per_processor);
    CHECK(reports[i].resources->shared_bytes <= device.shared_bytes_per_block);
  }
  return reports;
}

/// Of the tensors that a kernel reads, or writes.
std::int64_t largest_bytes(const codegen::Kernel& kernel, bool written) {
  std::int64_t largest = 0;
  for (const ir::Dim& bytes : kernel.buffer_bytes(written)) largest = std::max(largest, bytes.value());
  return largest;
}

/// Those of codegen that this NVRTC compiles for, without what only the driver could.
std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const std::string& arch : codegen::known_architectures())
    if (nvrtc().code_for(arch) == arch) names.push_back(arch);
  return names;
}

void compile_suite_everywhere(const char* dtype) {
  need_nvrtc();
  for (const std::string& arch : architectures()) {
    Kernels all;
    for (const suite::Workload& workload : suite::workloads()) all.add(workload, {{"dtype", dtype}}, arch);
    fitting_reports(all);
  }
}

}  // namespace

TEST_CASE("there is a description of every architecture that NVRTC knows") {
  need_nvrtc();
  const std::vector<std::string> known = codegen::known_architectures();
  for (const int number : nvrtc().architectures()) {
    INFO(number);
    if (number > 121) continue;  // newer than this version; PTX serves those GPUs
    CHECK(std::ranges::find(known, fmt::format("sm_{}", number)) != known.end());
  }
  CHECK(architectures().size() >= 8);
}

TEST_CASE("every kernel of the suite compiles for every architecture and spills nothing in f32") {
  compile_suite_everywhere("f32");
}
TEST_CASE("every kernel of the suite compiles for every architecture and spills nothing in bf16") {
  compile_suite_everywhere("bf16");
}
TEST_CASE("every kernel of the suite compiles for every architecture and spills nothing in f16") {
  compile_suite_everywhere("f16");
}

TEST_CASE("kernels that may start early wait before they touch memory") {
  need_nvrtc();
  for (const std::string arch : {"sm_80", "sm_90a"}) {
    Kernels all;
    for (const suite::Workload& workload : suite::workloads()) all.add(workload, {{"dtype", "bf16"}}, arch);
    for (std::size_t i = 0; i < all.sources.size(); ++i) {
      const codegen::KernelSource& source = all.sources[i];
      INFO(all.titles[i]);
      CHECK(source.early == (arch != "sm_80"));
      if (!source.early) continue;
      const std::string ptx = nvrtc().compile(source.name, source.text, arch).ptx;
      const std::size_t body = ptx.find(".entry"), wait = ptx.find("griddepcontrol.wait", body);
      REQUIRE(wait != ptx.npos);
      for (const char* access :
           {"ld.global", "st.global", "ld.acquire", "ld.relaxed", "cp.async", "atom.", "red."})
        CHECK(ptx.find(access, body) > wait);
    }
  }
}

TEST_CASE("kernels of the suite are compiled once for an H200, since no register is short of room") {
  need_nvrtc();
  Kernels all;
  for (const char* dtype : {"f32", "bf16"})
    for (const suite::Workload& workload : suite::workloads()) {
      all.add(workload, {{"dtype", dtype}}, "sm_90a");
      for (const char* name : {"softmax", "log_softmax", "layernorm", "rmsnorm", "add_rmsnorm"})
        if (workload.name == name)
          for (const char* rows : {"64", "32768"})
            for (const char* cols :
                 {"128", "1024", "4096", "8192", "11008", "12288", "16384", "32768", "131072"})
              all.add(workload, {{"dtype", dtype}, {"rows", rows}, {"cols", cols}}, "sm_90a");
    }
  const std::vector<runtime::KernelReport> reports = fitting_reports(all);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    INFO(all.titles[i]);
    CHECK(reports[i].compilations == 1);
  }
}

TEST_CASE("rows of every class of length spill nothing") {
  need_nvrtc();
  for (const char* arch : {"sm_80", "sm_90a"}) {
    Kernels all;
    for (const char* dtype : float_dtypes)
      for (const char* name : {"softmax", "layernorm", "add_rmsnorm", "cross_entropy"})
        for (const char* cols : {"31", "64", "128", "256", "257", "512", "1000", "1024", "2048", "4097",
                                 "6001", "8192", "8200", "12289", "16384", "40000", "50257", "128255"})
          all.add(*suite::find_workload(name), {{"dtype", dtype}, {"rows", "64"}, {"cols", cols}}, arch);
    fitting_reports(all);
  }
}

TEST_CASE("what autotuning tries compiles, fits, and spills nothing") {
  need_nvrtc();
  Kernels all;
  for (const char* dtype : {"f32", "bf16"}) {
    for (const suite::Workload& workload : suite::workloads())
      all.add_candidates(workload, {{"dtype", dtype}}, "sm_90a");
    for (const char* cols : {"128", "1000", "8192", "32768", "131072"})
      for (const char* name : {"softmax", "layernorm"})
        all.add_candidates(*suite::find_workload(name), {{"dtype", dtype}, {"rows", "4096"}, {"cols", cols}},
                           "sm_90a");
  }
  CHECK(all.sources.size() > 200);
  fitting_reports(all);
}

TEST_CASE("long rows, of blocks and of clusters, spill nothing") {
  need_nvrtc();
  for (const char* arch : {"sm_75", "sm_90", "sm_90a", "sm_120"}) {
    Kernels all;
    for (const char* dtype : {"f32", "bf16"})
      for (const char* name : {"softmax", "rmsnorm", "add_rmsnorm"})
        for (const char* cols : {"16384", "32768", "100001", "262144"})
          all.add(*suite::find_workload(name), {{"dtype", dtype}, {"rows", "4096"}, {"cols", cols}}, arch);
    fitting_reports(all);
  }
}

TEST_CASE("pieces of rows and what blocks declare beside them fit shared memory to the last byte") {
  need_nvrtc();
  const std::pair<const char*, std::vector<const char*>> lengths[] = {
      {"sm_75", {"168880", "176912", "209088"}},
      {"sm_80", {"414272", "579984"}},
      {"sm_86", {"250432", "325568"}},
      {"sm_90a", {"809360", "813568"}},
      {"sm_120", {"313040"}}};
  for (const auto& [arch, columns] : lengths) {
    Kernels all;
    for (const char* cols : columns)
      all.add(*suite::find_workload("softmax"), {{"dtype", "f64"}, {"rows", "256"}, {"cols", cols}}, arch);
    fitting_reports(all);
  }
}

TEST_CASE("rows and across them: what threads carry along spills nothing") {
  need_nvrtc();
  for (const char* arch : {"sm_75", "sm_90a", "sm_120"}) {
    Kernels all;
    for (const char* dtype : {"f32", "bf16"})
      for (const char* name : {"layernorm_backward", "rmsnorm_backward"})
        for (const char* cols :
             {"200", "333", "1000", "2560", "4096", "4097", "6001", "8192", "12345", "16384"})
          all.add(*suite::find_workload(name), {{"dtype", dtype}, {"rows", "4096"}, {"cols", cols}}, arch);
    all.add(*suite::find_workload("layernorm_backward"), {{"dtype", "f64"}, {"rows", "64"}, {"cols", "8192"}},
            arch);
    fitting_reports(all);
  }
}

TEST_CASE("rows and across them: many folds, along rows and across them, and many elements to a thread") {
  need_nvrtc();
  // `folds` of the row, and `sums` across, each of its own terms.
  const auto graph = [](const char* dtype, int length, int folds, int sums, const char* fold) {
    std::string text = fmt::format("graph @many(%x: {}[1000, {}]) {{\n", dtype, length), results;
    for (int i = 0; i < folds; ++i) {
      text += fmt::format("  %r{0} = {1}\n", i, fmt::format(fmt::runtime(fold), i + 1));
      results += fmt::format("%r{}, ", i);
    }
    for (int i = 0; i < sums; ++i) {
      text += fmt::format("  %c{0} = sum(add(%x, {0}), axes=[0])\n", i);
      results += fmt::format("%c{}, ", i);
    }
    return text + "  return " + results.substr(0, results.size() - 2) + "\n}\n";
  };
  const char *const sum = "sum(add(%x, {}), axes=[1])", *const wide = "sum(add(%x, {}), axes=[1], dtype=f64)",
                    *const place = "argmax(mul(%x, {}), axes=[1])";
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    Kernels all;
    all.add(graph("f32", 19284, 8, 1, wide), arch);
    all.add(graph("f32", 19284, 12, 1, wide), arch);
    all.add(graph("f32", 8352, 8, 1, wide), arch);
    all.add(graph("f32", 19284, 8, 1, place), arch);
    for (const int length : {513, 1023, 2047}) {
      all.add(graph("int8", length, 1, 1, sum), arch);
      all.add(graph("int8", length, 1, 3, sum), arch);
      all.add(graph("bf16", length, 1, 6, sum), arch);
      all.add(graph("bf16", length, 1, 10, sum), arch);
    }
    fitting_reports(all);
  }
}

TEST_CASE("rows and across them: gradients of norms that find mean and deviation again spill nothing") {
  need_nvrtc();
  const auto graph = [](const char* dtype, int length, bool centered) {
    return fmt::format(R"(graph @norm_backward(%dy: {0}[100, {1}], %x: {0}[100, {1}], %w: {0}[{1}]) {{
  %m = mul(sum(%x, axes=[1], keepdims=true), {2})
  %d = {3}
  %r = rsqrt(add(mul(sum(mul(%d, %d), axes=[1], keepdims=true), {2}), 0.00001))
  %n = mul(%d, %r)
  %g = mul(cast(%dy, dtype=f32), cast(%w, dtype=f32))
  %a = mul(sum(mul(%g, %n), axes=[1], keepdims=true), {2})
  %b = mul(sum(%g, axes=[1], keepdims=true), {2})
  %dx = mul(sub(sub(%g, mul(%n, %a)), %b), %r)
  return cast(%dx, dtype={0}), sum(mul(cast(%dy, dtype=f32), %n), axes=[0]), sum(mul(cast(%dy, dtype=f32), {2}), axes=[0])
}}
)",
                       dtype, length, 1.0 / length,
                       centered ? "sub(cast(%x, dtype=f32), cast(%m, dtype=f32))" : "cast(%x, dtype=f32)");
  };
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    Kernels all;
    for (const bool centered : {false, true}) {
      for (const int length : {10242, 12289, 13314, 14338, 16386})
        all.add(graph("bf16", length, centered), arch);
      for (const int length : {8193, 9218}) all.add(graph("f32", length, centered), arch);
    }
    fitting_reports(all);
  }
}

TEST_CASE("rows and across them: what cannot be copied is not folded across where it is long") {
  need_nvrtc();
  Kernels all;
  for (const char* operand : {"flip(%x, axes=[1])", "pad(%x, before=[0, 1], after=[0, 0], value=0)"})
    all.add(fmt::format("graph @g(%x: bf16[1000, 27000]) {{\n  %a = {}\n  return max(%a, axes=[1]), sum(%a, "
                        "axes=[0])\n}}\n",
                        operand),
            "sm_90a");
  for (const codegen::KernelSource& source : all.sources) CHECK(source.schedule.chooser != "rows across");
  fitting_reports(all);
}

TEST_CASE("folds that blocks share load 16 bytes at a time and spill nothing, for every architecture") {
  need_nvrtc();
  for (const std::string& arch : architectures()) {
    Kernels all;
    for (const char* dtype : float_dtypes) {
      all.add(*suite::find_workload("sum"), {{"dtype", dtype}}, arch);
      all.add(*suite::find_workload("column_sum"), {{"dtype", dtype}, {"rows", "65536"}, {"cols", "4096"}},
              arch);
      // Cut at its folds.
      all.add(*suite::find_workload("layernorm"), {{"dtype", dtype}, {"rows", "4"}, {"cols", "8388608"}},
              arch);
    }
    CHECK(all.sources.size() >= 12);
    const std::vector<runtime::KernelReport> reports = fitting_reports(all);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      INFO(all.titles[i]);
      CHECK(reports[i].load_bytes == 16);
    }
  }
}

TEST_CASE("large tensors are loaded and stored 16 bytes at a time") {
  need_nvrtc();
  for (const std::string& arch : architectures())
    for (const char* dtype : float_dtypes) {
      Kernels wide;
      for (const char* name :
           {"gelu", "gelu_erf", "silu", "swiglu", "bias_gelu", "adamw", "softmax", "log_softmax", "layernorm",
            "rmsnorm", "add_rmsnorm", "cross_entropy", "sum", "add_transposed", "embedding", "nchw_to_nhwc"})
        wide.add(*suite::find_workload(name), {{"dtype", dtype}}, arch);
      const std::vector<runtime::KernelReport> reports = wide.reports();
      for (std::size_t i = 0; i < reports.size(); ++i) {
        INFO(wide.titles[i]);
        CHECK(reports[i].load_bytes == 16);
        // What is left of a row is small beside it.
        if (largest_bytes(wide.kernels[i], true) * 8 > largest_bytes(wide.kernels[i], false))
          CHECK(reports[i].store_bytes == 16);
      }
    }
}

TEST_CASE("what is elementwise has exactly one load or store per tensor and vector") {
  need_nvrtc();
  for (const std::string& arch : architectures()) {
    Kernels all;
    for (const char* dtype : float_dtypes)
      for (const char* name : {"gelu", "gelu_erf", "silu", "swiglu", "adamw"})
        all.add(*suite::find_workload(name), {{"dtype", dtype}}, arch);
    const std::vector<runtime::KernelReport> reports = all.reports();
    CHECK(reports.size() == 15);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      INFO(all.titles[i]);
      std::vector<std::string> tensors, accessed;
      for (const codegen::KernelParam& p : all.sources[i].params)
        if (p.kind == codegen::KernelParam::Kind::buffer) tensors.push_back(p.name);
      for (const runtime::TensorAccesses& a : reports[i].accesses) {
        accessed.push_back(a.tensor);
        CHECK(a.is_store == a.tensor.starts_with("out"));
        CHECK(a.bytes == 16);
        CHECK(a.count == 1);
      }
      CHECK(accessed == tensors);
    }
  }
}
