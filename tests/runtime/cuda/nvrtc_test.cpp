// NVRTC needs no GPU, so these run wherever the CUDA toolkit is.
#include "runtime/cuda/nvrtc.h"

#include <atomic>
#include <clocale>
#include <thread>

#include "runtime/cuda/ptxas_report.h"
#include "runtime/subprocess.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::read_text;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;

namespace {

const std::string doubling =
    "extern \"C\" __global__ void doubling(float* x) {\n"
    "  x[threadIdx.x] *= 2.0f;\n"
    "}\n";

/// A kernel that adds up many numbers in a row, so that compiling it takes a while.
std::string long_source(int statements) {
  std::string text = "extern \"C\" __global__ void longish(float* x) {\n  float a = x[0];\n";
  for (int i = 0; i < statements; ++i)
    text += "  a = a * x[" + std::to_string(i) + "] + x[" + std::to_string(3 * i) + "] / a;\n";
  return text + "  x[0] = a;\n}\n";
}

void need_nvrtc() {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
}

}  // namespace

TEST_CASE("NVRTC compiles a kernel to a cubin of the architecture, with its PTX and what ptxas says") {
  need_nvrtc();
  const CudaCode code = nvrtc().compile("doubling", doubling, "sm_90a");
  CHECK(code.image.starts_with("\177ELF"));
  CHECK_THAT(code.ptx, ContainsSubstring(".target sm_90a"));
  CHECK_THAT(code.log, ContainsSubstring("0 bytes spill stores"));
  CHECK(nvrtc().architectures().size() >= 5);
}

TEST_CASE("the kernel that warms NVRTC up compiles for every architecture") {
  need_nvrtc();
  for (const int number : nvrtc().architectures())
    CHECK_NOTHROW(nvrtc().warm_up("sm_" + std::to_string(number)));
}

TEST_CASE("a GPU newer than NVRTC gets PTX of the newest plain architecture") {
  need_nvrtc();
  const int newest = nvrtc().architectures().back();
  CHECK(nvrtc().code_for("sm_90a") == "sm_90a");
  CHECK(nvrtc().code_for("sm_75") == "sm_75");
  CHECK(nvrtc().code_for("sm_999") == "compute_" + std::to_string(newest));
  CHECK(nvrtc().code_for("sm_999a") == "compute_" + std::to_string(newest));
  CHECK(nvrtc().code_for("sm_79") == "compute_75");
  CHECK(nvrtc().code_for("compute_90") == "compute_90");
  CHECK_THROWS_AS(nvrtc().code_for("sm_20"), sinter::DeviceError);
  CHECK_THROWS_AS(nvrtc().code_for("gelu"), sinter::ValueError);
  const CudaCode code = nvrtc().compile("doubling", doubling, "sm_999");
  CHECK(code.image == code.ptx);
  CHECK_THAT(code.ptx, ContainsSubstring(".target sm_" + std::to_string(newest)));
}

TEST_CASE("a kernel that NVRTC refuses is reported with its line, its file and how to repeat it") {
  need_nvrtc();
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  const std::string source = "// header\nextern \"C\" __global__ void f(float* x) {\n  x[0] = nonsense;\n}\n";
  std::string message;
  try {
    nvrtc().compile("fused_add", source, "sm_80");
  } catch (const sinter::CompileError& error) {
    message = error.what();
  }
  CHECK_THAT(message, ContainsSubstring("kernel fused_add: NVRTC"));
  CHECK_THAT(message, ContainsSubstring("\"nonsense\" is undefined"));
  CHECK_THAT(message, ContainsSubstring("line 3:   x[0] = nonsense;"));
  CHECK_THAT(message, ContainsSubstring("repeat: nvcc"));
  const std::size_t at = message.find("source: ") + 8;
  const std::string path = message.substr(at, message.find('\n', at) - at);
  CHECK(read_text(path) == source);
  if (find_program("nvcc").empty()) return;
  const std::size_t repeat = message.find("repeat: ") + 8;
  const Outcome again = run_program({{find_program("sh"), "-c", message.substr(repeat)}});
  CHECK_FALSE(again.ok());
  CHECK_THAT(again.err + again.out, ContainsSubstring("\"nonsense\" is undefined"));
}

TEST_CASE("threads compile side by side, each its own kernel") {
  need_nvrtc();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const std::string name = "kernel_" + std::to_string(t);
      const std::string source = "extern \"C\" __global__ void " + name + "(float* x) { x[0] += 1; }";
      const CudaCode code = nvrtc().compile(name, source, "sm_90a");
      right += code.ptx.find(".entry " + name) != std::string::npos;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 8);
}

TEST_CASE("a compilation that takes too long is given up") {
  need_nvrtc();
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"SINTER_COMPILE_TIMEOUT", "1"}, {"TMPDIR", temporary.path()}};
  CHECK_THROWS_WITH(nvrtc().compile("longish", long_source(20000), "sm_90a"),
                    ContainsSubstring("SINTER_COMPILE_TIMEOUT=1"));
}

TEST_CASE("a locale with a decimal comma changes no number in what NVRTC reads") {
  need_nvrtc();
  const std::string localedef = find_program("localedef");
  if (localedef.empty()) SINTER_SKIP("no localedef to make a locale with");
  const TemporaryDirectory directory;
  run_program({{localedef, "-i", "de_DE", "-f", "UTF-8", directory / "de_DE.UTF-8"}});
  const ScopedEnvironment environment{{"LOCPATH", directory.path()}};
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) SINTER_SKIP("no German locale");
  const CudaCode code =
      nvrtc().compile("scaling", "extern \"C\" __global__ void scaling(float* x) { *x *= 0.5f; }", "sm_90a");
  std::setlocale(LC_ALL, "C");
  CHECK_THAT(code.ptx, ContainsSubstring("0f3F000000"));
}

TEST_CASE("without NVRTC the error says what was searched and which variable to set") {
  const TemporaryDirectory directory;
  const auto reason_for = [](const std::string& setting) {
    const ScopedEnvironment environment{{"SINTER_NVRTC", setting}};
    const Nvrtc none;
    CHECK_FALSE(none.usable());
    CHECK_THROWS_WITH(none.compile("doubling", doubling, "sm_90a"), ContainsSubstring(none.reason()));
    return none.reason();
  };
  CHECK(reason_for("0") == "SINTER_NVRTC is off");
  const std::string missing = reason_for(directory / "libnvrtc.so");
  CHECK_THAT(missing, ContainsSubstring(directory / "libnvrtc.so"));
  CHECK_THAT(missing, ContainsSubstring("set SINTER_NVRTC to the library or to its directory"));
  CHECK_THAT(reason_for(directory.path()), ContainsSubstring("libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so"));
  const std::string garbage = directory.write("libnvrtc.so.13", "this is no library");
  CHECK_THAT(reason_for(directory.path()), ContainsSubstring(garbage));
  CHECK_THAT(reason_for(garbage), ContainsSubstring("file too short"));
}

TEST_CASE("a kernel spills only where a block of its size has no more registers") {
  need_nvrtc();
  const auto spilled = [](const std::string& bounds) {
    const std::string source =
        "extern \"C\" __global__ void __launch_bounds__(" + bounds +
        ") crowded(float* x) {\n"
        "  float v[96];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 96; ++i) v[i] = x[i * 1024 + threadIdx.x];\n"
        "  __syncthreads();\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = v[95 - i] * v[i / 2];\n"
        "}\n";
    return read_ptxas_report(nvrtc().compile("crowded", source, "sm_80").log)->spill_bytes;
  };
  CHECK(spilled("256") == 0);
  CHECK(spilled("1024") > 0);
}
