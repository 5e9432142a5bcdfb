#include "runtime/doctor.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "runtime/blas.h"
#include "runtime/device.h"
#include "runtime/kernel_cache.h"
#include "runtime/thread_pool.h"
#include "sinter/error.h"
#ifdef SINTER_CUDA
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/nvrtc.h"
#endif

namespace sinter::runtime {
namespace {

/// A library that the program is linked with, by one of its functions.
Finding linked_library(const char* subject, const char* symbol) {
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  Dl_info info{};
  if (address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr)
    return {subject, info.dli_fname};
  return {subject, "not linked with this program", Health::absent, "nothing in this program uses it"};
}

/// What is lost, and what to do: where a setting switched the thing off, which its reason says in these
/// words, to unset the setting, else the remedy.
std::string hint(std::string_view reason, std::string_view lost, std::string_view remedy) {
  constexpr std::string_view is_off = " is off";
  if (reason.starts_with("SINTER_") && reason.ends_with(is_off)) {
    reason.remove_suffix(is_off.size());
    return fmt::format("{}; unset {}", lost, reason);
  }
  return remedy.empty() ? std::string(lost) : fmt::format("{}; {}", lost, remedy);
}

Finding compiler() {
  const HostCompiler& compiler = kernel_cache().compiler();
  if (!compiler.usable())
    return {"C++ compiler", compiler.reason(), Health::absent,
            hint(compiler.reason(), "programs run on the CPU op by op, slowly",
                 "install g++, or set SINTER_CXX to a compiler")};
  // The second line of the identity is the first that the compiler says of its version.
  const std::string& identity = compiler.identity();
  const std::size_t begin = identity.find('\n') + 1;
  return {"C++ compiler", fmt::format("{} ({})", compiler.program().front(),
                                      identity.substr(begin, identity.find('\n', begin) - begin))};
}

Finding blas_library() {
  if (blas().f32 != nullptr) return {"OpenBLAS", blas().description};
  return {
      "OpenBLAS", blas().description, Health::absent,
      "matrix products are slow on the CPU; install libopenblas0, or add its directory to LD_LIBRARY_PATH"};
}

Finding cache() {
  const DiskCacheInfo info = kernel_cache().disk().info();
  if (info.directory.empty())
    return {"kernel cache", info.reason, Health::absent,
            hint(info.reason, "every process compiles its kernels anew",
                 "set SINTER_CACHE_DIR to a directory of your own")};
  constexpr double mib = 1 << 20;
  return {"kernel cache",
          fmt::format("{}: {} entries, {:.1f} of {:.0f} MiB", info.directory, info.entries,
                      static_cast<double>(info.bytes) / mib, static_cast<double>(info.capacity) / mib)};
}

#ifdef SINTER_CUDA
/// CUDA writes a version as 1000 * major + 10 * minor.
std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// The driver, and each GPU or why there is none.
std::vector<Finding> cuda_driver() {
  const CudaState& cuda = cuda_state();
  if (cuda.driver_is_missing) return {{"CUDA driver", cuda.reason, Health::absent, cuda.hint}};
  std::vector<Finding> findings;
  const std::string version = fmt::format("for CUDA {} (sinter was built with {})", cuda_version(cuda.driver),
                                          cuda_version(cuda.runtime));
  if (cuda.gpus.empty()) {
    findings.push_back({"CUDA driver", fmt::format("{}; {}", version, cuda.reason), Health::bad, cuda.hint});
    return findings;
  }
  findings.push_back({"CUDA driver", version});
  constexpr double gib = 1 << 30;
  for (std::size_t i = 0; i < cuda.gpus.size(); ++i) {
    const Gpu& gpu = cuda.gpus[i];
    const std::string what =
        fmt::format("{}: {}, compute capability {}.{}, {:.0f} GiB", i, gpu.name, gpu.capability / 10,
                    gpu.capability % 10, static_cast<double>(gpu.memory) / gib);
    if (gpu.fault.empty())
      findings.push_back({"GPU", what});
    else
      findings.push_back({"GPU", fmt::format("{}; {}", what, gpu.fault), Health::bad,
                          "name another one in CUDA_VISIBLE_DEVICES or SINTER_DEVICE"});
  }
  return findings;
}

Finding cuda_compiler() {
  if (!nvrtc().usable())
    return {"NVRTC", nvrtc().reason(), Health::absent,
            hint(nvrtc().reason(), "no CUDA kernels can be compiled",
                 "install the CUDA toolkit, or set SINTER_NVRTC to the library or to its directory")};
  const std::string found = fmt::format("{} ({})", nvrtc().version(), nvrtc().path());
  try {  // its builtins are another file
    nvrtc().compile("trial", "extern \"C\" __global__ void trial(float* x) { *x += 1; }", "sm_80");
  } catch (const Error& error) {
    return {"NVRTC", fmt::format("{}: {}", found, error.what()), Health::bad,
            "install the CUDA toolkit again, or set SINTER_NVRTC to a whole one"};
  }
  const std::vector<int>& architectures = nvrtc().architectures();  // it just compiled for one
  return {"NVRTC", fmt::format("{}, for sm_{} to sm_{}", found, architectures.front(), architectures.back())};
}

Finding cuda_products() {
  const cuda::CublasLt& library = cuda::cublaslt();
  if (!library.usable())
    return {"cuBLASLt", library.reason, Health::absent,
            hint(library.reason, "programs on a GPU have no matrix products",
                 "install the CUDA toolkit, or set SINTER_CUBLASLT to the library or to its directory")};
  return {"cuBLASLt", fmt::format("{}: {}", library.path, library.version())};
}

std::vector<Finding> cuda_findings() {
  std::vector<Finding> findings = cuda_driver();
  findings.push_back(cuda_compiler());
  findings.push_back(cuda_products());
  return findings;
}
#else
std::vector<Finding> cuda_findings() {
  return {{"CUDA", "left out of this build of sinter; the driver and CUDA's libraries were not looked for",
           Health::absent,
           "programs run on the CPU, and CUDA kernels are printed but not compiled; build sinter with a CUDA "
           "toolkit from 12.8 on to use NVIDIA GPUs"}};
}
#endif

/// Where programs run unless told otherwise.
Finding default_place() {
  try {
    const Device& chosen = default_device();
    return {"runs on", fmt::format("{} ({})", chosen.name(), chosen.description())};
  } catch (const Error& error) {
    return {"runs on", error.what(), Health::bad,
            "set SINTER_DEVICE to auto, cpu, cuda or cuda:1, or install what is missing"};
  }
}

}  // namespace

std::string_view name(Health health) {
  switch (health) {
    case Health::good:
      return "good";
    case Health::absent:
      return "absent";
    case Health::bad:
      break;
  }
  return "bad";
}

std::vector<Finding> examine() {
  std::vector<Finding> findings{{"sinter", SINTER_VERSION},
                                compiler(),
                                blas_library(),
                                linked_library("oneTBB", "TBB_runtime_version"),
                                {"threads", std::to_string(thread_count())},
                                linked_library("libcgraph", "agopen"),
                                cache()};
  for (Finding& finding : cuda_findings()) findings.push_back(std::move(finding));
  findings.push_back(default_place());
  return findings;
}

std::string doctor_report(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  std::string out;
  for (const Finding& finding : findings) {
    out += fmt::format("{:<{}}  {:<6}  {}\n", finding.subject, width, name(finding.health), finding.value);
    if (!finding.hint.empty()) out += fmt::format("{:<{}}  {:<6}  -> {}\n", "", width, "", finding.hint);
  }
  return out;
}

}  // namespace sinter::runtime
