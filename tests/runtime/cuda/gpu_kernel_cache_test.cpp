// CUDA kernels through the kernel cache, as far as a driver has to load them.
#include <cuda_runtime_api.h>

#include <filesystem>

#include "runtime/cache_entry.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/kernel_cache.h"
#include "tests/catch.h"
#include "tests/support/gpu.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using sinter::codegen::Target;
using sinter::testing::need_gpu;
using sinter::testing::read_text;
using sinter::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// A kernel that adds `number` to one float.
KernelSpec adding(int number, const Target& target) {
  const std::string entry = "adding_" + std::to_string(number);
  const std::string source =
      "extern \"C\" __global__ void " + entry + "(float* x) { *x += " + std::to_string(number) + "; }\n";
  return {entry, source, source, entry, target};
}

float apply(const LoadedKernel& kernel) {
  float value = 0.5f;
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, sizeof(value)) == cudaSuccess);
  CHECK(cudaMemcpy(memory, &value, sizeof(value), cudaMemcpyHostToDevice) == cudaSuccess);
  void* arguments[] = {&memory};
  CHECK(cudaLaunchKernel(static_cast<const CudaKernel&>(kernel).function(), dim3(1), dim3(1), arguments, 0,
                         nullptr) == cudaSuccess);
  CHECK(cudaMemcpy(&value, memory, sizeof(value), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  return value;
}

}  // namespace

TEST_CASE("a CUDA kernel is compiled once, then found in memory, then on disk") {
  const Target target = need_gpu().target();
  const TemporaryDirectory directory;
  KernelCache cache({directory / "c"});
  const auto kernel = cache.get_or_compile(adding(1, target));
  CHECK(apply(*kernel) == 1.5f);
  CHECK(cache.get_or_compile(adding(1, target)) == kernel);
  CHECK(cache.counters().compilations == 1);
  const auto& loaded = static_cast<const CudaKernel&>(*kernel);
  CHECK(loaded.registers() > 0);
  CHECK(loaded.local_bytes() == 0);
  CHECK(loaded.shared_bytes() == 0);
  CHECK(loaded.max_block_threads() == 1024);

  KernelCache next({directory / "c"});
  CHECK(apply(*next.get_or_compile(adding(1, target))) == 1.5f);
  CHECK(next.counters().compilations == 0);
  CHECK(next.counters().disk_hits == 1);
}

TEST_CASE("an entry for a GPU that is not this one is dropped and compiled again") {
  const Target target = need_gpu().target();
  const KernelSpec spec = adding(1, target);
  const std::string other = target.arch == "sm_75" ? "sm_90" : "sm_75";
  const TemporaryDirectory directory;
  KernelCache({directory / "c"}).get_or_compile(spec);
  for (const auto& entry : fs::directory_iterator(directory / "c")) {
    const std::string file = read_text(entry.path().string());
    const auto decoded = decode_entry(file);
    REQUIRE(decoded);
    if (decoded->key.starts_with(target.arch))
      directory.write("c/" + entry.path().filename().string(),
                      encode_entry(decoded->key, nvrtc().compile(spec.name, spec.source, other).image));
  }
  KernelCache cache({directory / "c"});
  CHECK(apply(*cache.get_or_compile(spec)) == 1.5f);
  CHECK(cache.counters().compilations == 1);
  CHECK(cache.disk().counters().rejected == 0);
  KernelCache next({directory / "c"});
  CHECK(apply(*next.get_or_compile(spec)) == 1.5f);
  CHECK(next.counters().compilations == 0);
}

TEST_CASE("the driver compiles PTX, which is what a GPU newer than NVRTC gets") {
  need_gpu();
  const TemporaryDirectory directory;
  for (int round = 0; round < 2; ++round) {
    KernelCache cache({directory / "c"});
    CHECK(apply(*cache.get_or_compile(adding(1, Target::cuda("compute_75")))) == 1.5f);
    CHECK(cache.counters().compilations == (round == 0 ? 1 : 0));
  }
}
