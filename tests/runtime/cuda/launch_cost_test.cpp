// What the parts of a launch cost the host, for whoever wants to make it cheaper.
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>

#include "runtime/buffer.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/kernel_cache.h"
#include "runtime/steps.h"
#include "tests/support/gpu.h"

using namespace sinter::runtime;

namespace {

template <class F>
void time(const char* what, const F& call) {
  double best = 1e9;
  for (int repeat = 0; repeat < 30; ++repeat) {
    cudaDeviceSynchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) call();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / 200);
  }
  std::cout << what << ": " << best << " us\n";
}

}  // namespace

TEST_CASE("the parts of a launch", "[.][cost]") {
  auto& gpu = static_cast<cuda::CudaDevice&>(sinter::testing::need_gpu());
  const std::string text =
      "struct P { int* to; long long a, b, c; };\n"
      "extern \"C\" __global__ void __launch_bounds__(256) nearly_nothing(const P p) { *p.to = 7; }\n";
  const auto kernel = kernel_cache().get_or_compile(
      {"nearly_nothing", text, text, "nearly_nothing", gpu.target(), gpu.ordinal()});
  const void* const function = static_cast<const CudaKernel&>(*kernel).function();
  const auto buffer = Buffer::allocate(4, gpu);
  std::byte params[32] = {};
  std::byte* const address = buffer->data();
  std::memcpy(params, &address, sizeof address);
  void* arguments[] = {params};

  time("cudaGetDevice", [] {
    int current = 0;
    cudaGetDevice(&current);
  });
  time("DeviceScope", [&] { const cuda::DeviceScope scope(gpu); });
  time("an NVTX range", [] {
    nvtxRangePushA("x");
    nvtxRangePop();
  });
  time("allocate and free", [&] { Buffer::allocate(4096, gpu); });
  cudaStream_t own = nullptr;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  for (const cudaStream_t stream : {static_cast<cudaStream_t>(nullptr), cudaStreamLegacy, own}) {
    time("cudaLaunchKernel", [&] { cudaLaunchKernel(function, dim3(4), dim3(256), arguments, 0, stream); });
  }
  cudaFunction_t as_function = nullptr;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  cudaGetDriverEntryPointByVersion("cuKernelGetFunction", &found, 12000, cudaEnableDefault, &result);
  const auto get_function = reinterpret_cast<PFN_cuKernelGetFunction_v12000>(found);
  const auto handle = reinterpret_cast<CUkernel>(const_cast<void*>(function));
  get_function(reinterpret_cast<CUfunction*>(&as_function), handle);
  cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 12000, cudaEnableDefault, &result);
  const auto launch = reinterpret_cast<PFN_cuLaunchKernel_v4000>(found);
  for (const CUstream stream : {static_cast<CUstream>(nullptr), static_cast<CUstream>(own)}) {
    time("cuLaunchKernel of a kernel", [&] {
      launch(reinterpret_cast<CUfunction>(handle), 4, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
    });
    time("cuLaunchKernel of a function", [&] {
      launch(reinterpret_cast<CUfunction>(as_function), 4, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
    });
  }
  KernelLaunch step;
  step.name = "nearly_nothing";
  step.units = 4;
  step.block_threads = 256;
  time("Device::run_kernel", [&] { gpu.run_kernel(step, *kernel, params); });
  cudaDeviceSynchronize();
  cudaStreamDestroy(own);
}
