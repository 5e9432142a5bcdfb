#include "runtime/cuda/fill.h"

#include <cudaTypedefs.h>

#include "ir/base/check.h"
#include "runtime/cuda/cuda_device.h"

namespace sinter::runtime::cuda {
namespace {

/// The driver's functions that fill with more than a byte; the runtime has none.
struct Fills {
  PFN_cuMemsetD16Async_v3020 d16 = nullptr;
  PFN_cuMemsetD32Async_v3020 d32 = nullptr;
  PFN_cuMemsetD2D32Async_v3020 rows_d32 = nullptr;

  explicit Fills(CudaDevice& device) {
    find(device, "cuMemsetD16Async", d16);
    find(device, "cuMemsetD32Async", d32);
    find(device, "cuMemsetD2D32Async", rows_d32);
  }

  template <class F>
  static void find(CudaDevice& device, const char* name, F& function) {
    constexpr unsigned version = 12000;
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result{};
    device.check(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &result),
                 "looking for a function of the driver");
    if (address == nullptr) fail<DeviceError>("{}: the driver has no {}", device.name(), name);
    function = reinterpret_cast<F>(address);
  }
};

void check(CudaDevice& device, CUresult result) {
  if (result == CUDA_SUCCESS) return;
  // The numbers of the driver's errors are those of the runtime's, as far as work on the device goes.
  device.check(static_cast<cudaError_t>(result), "filling memory");
}

}  // namespace

void fill_memory(CudaDevice& device, void* to, std::uint64_t bits, int size, std::int64_t count) {
  const cudaStream_t stream = device.stream_handle();
  const auto address = reinterpret_cast<CUdeviceptr>(to);
  const auto n = static_cast<std::size_t>(count);
  const std::uint64_t byte = bits & 0xff;
  const std::uint64_t used = size == 8 ? bits : bits & ((std::uint64_t{1} << (8 * size)) - 1);
  if (used == (byte * 0x0101010101010101u >> (64 - 8 * size))) {
    device.check(cudaMemsetAsync(to, static_cast<int>(byte), n * static_cast<std::size_t>(size), stream),
                 "filling memory");
    return;
  }
  static const Fills fills(device);
  // The driver's functions want the context that the runtime's make when they are first called in a thread.
  device.check(cudaSetDevice(device.ordinal()), "filling memory");
  const auto low = static_cast<unsigned>(used), high = static_cast<unsigned>(used >> 32);
  if (size == 2) {
    check(device, fills.d16(address, static_cast<unsigned short>(low), n, stream));
  } else if (size == 4) {
    check(device, fills.d32(address, low, n, stream));
  } else if (low == high) {
    check(device, fills.d32(address, low, 2 * n, stream));
  } else {  // every other word, twice
    check(device, fills.rows_d32(address, 8, low, 1, n, stream));
    check(device, fills.rows_d32(address + 4, 8, high, 1, n, stream));
  }
}

}  // namespace sinter::runtime::cuda
