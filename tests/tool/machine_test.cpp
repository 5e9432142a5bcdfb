// One binary on machines that lack the driver, CUDA's libraries, or have old ones: it runs all the same, and
// says what it found. The machines are made by directories with libraries of our own, which the dynamic
// linker takes first.
#include <filesystem>

#include "runtime/subprocess.h"
#include "tests/catch.h"
#include "tests/support/compile_source.h"
#include "tests/support/sandbox.h"
#include "tests/tool/tool.h"

using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;
using sinter::runtime::find_program;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A shared library with these C functions.
std::string library(const std::string& source, const std::string& soname) {
  const std::string compiler = find_program("cc");
  if (compiler.empty()) SINTER_SKIP("no C compiler to make a library with");
  const CompiledSource made =
      compile_source({compiler, "-shared", "-fPIC", "-Wl,-soname," + soname}, source, "library.c");
  INFO(made.messages);
  REQUIRE(made.ok);
  return made.output;
}

/// What the doctor says of a subject, with the hint below.
std::string diagnosis(const std::string& subject, const Environment& environment) {
  const ToolRun run = run_tool({"doctor"}, environment);
  CHECK(run.exit_code == 0);
  const std::size_t begin = run.out.find("\n" + subject);
  REQUIRE(begin != std::string::npos);
  std::size_t end = run.out.find('\n', begin + 1);
  while (end + 1 < run.out.size() && run.out[end + 1] == ' ') end = run.out.find('\n', end + 1);
  return run.out.substr(begin + 1, end - begin);
}

bool has_cuda_backend() {
  return diagnosis("CUDA", {}).find("left out of this build") == std::string::npos;
}

/// A program runs on the CPU unless it asks for a GPU, which is then refused with the reason.
void check_cpu_serves(const Environment& environment, const std::string& reason) {
  const std::vector<std::string> small{"run", "gelu", "--set", "rows=2", "--set", "cols=2"};
  const ToolRun run = run_tool(small, environment);
  CHECK(run.err == "");
  CHECK_THAT(run.out, ContainsSubstring("out0: f32[2, 2]"));
  std::vector<std::string> on_gpu = small;
  on_gpu.insert(on_gpu.end(), {"--device", "cuda"});
  const ToolRun refused = run_tool(on_gpu, environment);
  CHECK(refused.exit_code == 1);
  CHECK(refused.out == "");
  CHECK_THAT(refused.err, ContainsSubstring(reason));
}

/// The machine with this change, whatever the tests have been told of GPUs.
Environment machine(Environment environment) {
  environment.insert(environment.end(), {{"SINTER_DEVICE", "auto"}, {"SINTER_REQUIRE_GPU", "0"}});
  return environment;
}

}  // namespace

TEST_CASE("a driver that does not load is said, and the CPU serves") {
  if (!has_cuda_backend()) SINTER_SKIP("this build has no CUDA backend");
  const TemporaryDirectory directory;
  directory.write("libcuda.so.1", "this is no library");
  const Environment environment = machine({{"LD_LIBRARY_PATH", directory.path()}});
  CHECK_THAT(diagnosis("CUDA driver", environment), ContainsSubstring("libcuda.so.1"));
  check_cpu_serves(environment, "libcuda.so.1 does not load");
}

TEST_CASE("a driver that is too old is said, with the one that is needed, and the CPU serves") {
  if (!has_cuda_backend()) SINTER_SKIP("this build has no CUDA backend");
  const TemporaryDirectory directory;
  directory.write("libcuda.so.1", library("int cuInit(unsigned flags) { return flags != 0; }\n"
                                          "int cuDriverGetVersion(int* v) { *v = 11040; return 0; }\n"
                                          "int cuDeviceGetCount(int* n) { *n = 1; return 0; }\n",
                                          "libcuda.so.1"));
  const Environment environment = machine({{"LD_LIBRARY_PATH", directory.path()}});
  const std::string driver = diagnosis("CUDA driver", environment);
  CHECK_THAT(driver, ContainsSubstring("11.4"));
  CHECK_THAT(driver, ContainsSubstring("bad"));
  check_cpu_serves(environment, "the driver is too old: it knows CUDA up to 11.4");
}

TEST_CASE("CUDA's libraries that are missing are said, with where they were searched") {
  if (!has_cuda_backend()) SINTER_SKIP("this build has no CUDA backend");
  const TemporaryDirectory directory;
  const Environment environment =
      machine({{"SINTER_NVRTC", directory.path()}, {"SINTER_CUBLASLT", directory.path()}});
  for (const auto& [subject, variable] :
       {std::pair("NVRTC", "SINTER_NVRTC"), std::pair("cuBLASLt", "SINTER_CUBLASLT")}) {
    const std::string found = diagnosis(subject, environment);
    CHECK_THAT(found, ContainsSubstring("absent"));
    CHECK_THAT(found, ContainsSubstring(std::string(variable) + "=" + directory.path()));
    CHECK_THAT(found, ContainsSubstring("set " + std::string(variable)));
  }
  const ToolRun compile = run_tool({"compile", "gelu"}, environment);
  CHECK(compile.exit_code == 1);
  CHECK_THAT(compile.err, ContainsSubstring("SINTER_NVRTC=" + directory.path()));
}

TEST_CASE("the doctor says to unset what a setting switched off, and nothing else") {
  const auto [subject, variable, value] = GENERATE(table<std::string, std::string, std::string>({
      {"C++ compiler", "SINTER_CXX", "off"},
      {"kernel cache", "SINTER_CACHE", "0"},
      {"kernel cache", "SINTER_CACHE_DIR", "off"},
      {"kernel cache", "SINTER_CACHE_SIZE", "0"},
      {"NVRTC", "SINTER_NVRTC", "off"},
      {"cuBLASLt", "SINTER_CUBLASLT", "0"},
  }));
  const bool is_of_cuda = variable == "SINTER_NVRTC" || variable == "SINTER_CUBLASLT";
  if (is_of_cuda && !has_cuda_backend()) SINTER_SKIP("this build has no CUDA backend");
  const std::string found = diagnosis(subject, {{variable, value}});
  INFO(found);
  CHECK_THAT(found, ContainsSubstring("absent") && ContainsSubstring(variable + " is off"));
  CHECK_THAT(found, ContainsSubstring("; unset " + variable + "\n"));
  CHECK_THAT(found, !ContainsSubstring("install") && !ContainsSubstring("set SINTER_CACHE_DIR to"));
}

TEST_CASE("an NVRTC that is too old is refused by its version, and a newer one behind it is taken") {
  if (!has_cuda_backend()) SINTER_SKIP("this build has no CUDA backend");
  const TemporaryDirectory directory;
  directory.write("libnvrtc.so.13",
                  library("int nvrtcVersion(int* major, int* minor) { *major = 11; *minor = 2; return 0; }\n",
                          "libnvrtc.so.13"));
  const std::string alone = diagnosis("NVRTC", {{"SINTER_NVRTC", directory.path()}});
  CHECK_THAT(alone, ContainsSubstring("absent"));
  CHECK_THAT(alone, ContainsSubstring(directory / "libnvrtc.so.13: is version 11.2, and 12.8 or later"));
  if (diagnosis("NVRTC", {}).find("good") == std::string::npos) SINTER_SKIP("no other NVRTC");
  CHECK_THAT(diagnosis("NVRTC", {{"LD_LIBRARY_PATH", directory.path()}}), ContainsSubstring("good"));
}

TEST_CASE("an NVRTC whose builtins are broken is said to be") {
  const std::string good = diagnosis("NVRTC", {});
  if (good.find("good") == std::string::npos) SINTER_SKIP("no NVRTC");
  // "NVRTC  good  13.0 (/usr/lib/libnvrtc.so.13), for ..."
  const std::size_t begin = good.find('(') + 1;
  const std::string path = good.substr(begin, good.find(')') - begin);
  const std::string version = good.substr(good.find_first_of("0123456789"), 4);
  const TemporaryDirectory directory;
  std::filesystem::create_symlink(path, directory / "libnvrtc.so");
  const std::string builtins = "libnvrtc-builtins.so." + version;
  directory.write(builtins, library("int unrelated;\n", builtins));
  const Environment environment{{"SINTER_NVRTC", directory.path()}};
  const std::string broken = diagnosis("NVRTC", environment);
  CHECK_THAT(broken, ContainsSubstring("bad"));
  CHECK_THAT(broken, ContainsSubstring(builtins));
  const ToolRun compile = run_tool({"compile", "gelu"}, environment);
  CHECK(compile.exit_code == 1);
  CHECK_THAT(compile.err, ContainsSubstring("does not find its builtins, " + builtins));
  CHECK_THAT(compile.err, ContainsSubstring("SINTER_NVRTC"));
}
