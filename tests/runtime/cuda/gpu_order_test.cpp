// Kernels that start before the ones before them have ended read what those have written, whatever else is
// on the stream between them.
#include <cuda_runtime_api.h>

#include "runtime/stream_scope.h"
#include "sinter/sinter.h"
#include "tests/frontend/tensors.h"
#include "tests/support/gpu.h"
#include "tests/support/user_stream.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// Device memory of n int32, as a tensor that reads it where it lies.
struct Memory {
  void* data = nullptr;
  Tensor tensor;

  explicit Memory(std::int64_t n) {
    REQUIRE(cudaMalloc(&data, static_cast<std::size_t>(n) * 4) == cudaSuccess);
    tensor = from_device(data, {n}, int32);
  }
  ~Memory() {
    synchronize();
    tensor = Tensor();
    cudaFree(data);
  }
};

}  // namespace

TEST_CASE("chains of kernels, whose blocks read what other blocks have written, count right") {
  need_gpu();
  const Device gpu("cuda");
  // Of the largest a GPU runs only a part of the blocks at a time.
  const std::pair<std::int64_t, int> sizes[] = {
      {1 << 8, 400}, {1 << 12, 400}, {1 << 17, 400}, {1 << 20, 400}, {1 << 25, 40}};
  for (const auto& [n, steps] : sizes) {
    INFO(n);
    // Memory that one step gives back, the next but one writes again.
    Tensor x = arange(n).astype(int32).to(gpu);
    for (int i = 0; i < steps; ++i) x = flip(x, {0}) + 1;
    CHECK(all(x == arange(n).astype(int32).to(gpu) + steps).item<bool>());
    // Every element depends on all of the step before.
    Tensor total = full({n}, 0.0, int32).to(gpu);
    for (int i = 0; i < steps; ++i) total = total * 0 + max(total) + 1;
    CHECK(all(total == steps).item<bool>());
  }
}

TEST_CASE("kernels around products of the library wait for each other") {
  need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 64;
  const Tensor identity = (reshape(arange(n), {n, 1}) == arange(n)).astype(f32).to(gpu);
  Tensor x = zeros({n, n}).to(gpu);
  constexpr int steps = 100;
  for (int i = 0; i < steps; ++i) x = matmul(identity, flip(x, {0}) + 1.0);
  CHECK(all(x == steps).item<bool>());
}

TEST_CASE("what others put between two kernels is waited for") {
  need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 1 << 26;  // so much that filling it takes longer than a launch
  const Memory memory(n);
  for (const unsigned flags : {cudaStreamNonBlocking, cudaStreamDefault}) {
    const UserStream own(flags), other(cudaStreamNonBlocking);
    cudaEvent_t filled = nullptr;
    REQUIRE(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming) == cudaSuccess);
    const StreamScope scope(own.get(), gpu);
    for (int byte = 1; byte < 20; ++byte) {
      const Tensor before = ones({1 << 10}).to(gpu) + 1.0;
      if (byte % 2 == 0) {
        REQUIRE(cudaMemsetAsync(memory.data, byte, n * 4, own.get()) == cudaSuccess);
      } else {
        REQUIRE(cudaMemsetAsync(memory.data, byte, n * 4, other.get()) == cudaSuccess);
        REQUIRE(cudaEventRecord(filled, other.get()) == cudaSuccess);
        REQUIRE(cudaStreamWaitEvent(own.get(), filled, 0) == cudaSuccess);
      }
      CHECK(all(memory.tensor == byte * 0x01010101).item<bool>());
      CHECK(all(before == 2.0).item<bool>());
    }
    cudaEventDestroy(filled);
  }
}

TEST_CASE("on CUDA's default stream kernels wait for what blocking streams do") {
  need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 1 << 26;
  const Memory memory(n);
  const UserStream other(cudaStreamDefault);
  for (int byte = 1; byte < 20; ++byte) {
    const Tensor before = ones({1 << 10}).to(gpu) + 1.0;
    REQUIRE(cudaMemsetAsync(memory.data, byte, n * 4, other.get()) == cudaSuccess);
    CHECK(all(memory.tensor == byte * 0x01010101).item<bool>());
    CHECK(all(before == 2.0).item<bool>());
  }
}

TEST_CASE("programs of several kernels are right in a captured graph that runs again and again") {
  need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 1 << 16;
  const UserStream stream(cudaStreamNonBlocking);
  const StreamScope scope(stream.get(), gpu);
  const Memory memory(n);
  REQUIRE(cudaMemsetAsync(memory.data, 0, n * 4, stream.get()) == cudaSuccess);
  const auto step = [&] {
    Tensor x = memory.tensor;
    for (int i = 0; i < 10; ++i) x = flip(x, {0}) + max(x) * 0 + 1;
    return x;
  };
  const Tensor first = step();  // compiled before the capture
  synchronize();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  Tensor last;
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed) == cudaSuccess);
  last = step();
  REQUIRE(cudaMemcpyAsync(memory.data, last.data(), n * 4, cudaMemcpyDeviceToDevice, stream.get()) ==
          cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&runnable, graph, 0) == cudaSuccess);
  constexpr int rounds = 50;
  for (int i = 0; i < rounds; ++i) REQUIRE(cudaGraphLaunch(runnable, stream.get()) == cudaSuccess);
  CHECK(all(memory.tensor == 10 * rounds).item<bool>());
  CHECK(all(first == 10).item<bool>());
  synchronize();
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
}
