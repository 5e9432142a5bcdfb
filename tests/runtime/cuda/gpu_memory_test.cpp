// A GPU's memory: copies, fills, addresses, and what happens when there is no more.
#include <cstring>

#include "runtime/allocator.h"
#include "runtime/buffer.h"
#include "sinter/error.h"
#include "tests/support/gpu.h"

using namespace sinter;
using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::need_gpu;

namespace {

template <class T>
std::vector<T> fetched(const Buffer& buffer) {
  std::vector<T> elements(static_cast<std::size_t>(buffer.bytes()) / sizeof(T));
  buffer.device().copy_to_host(elements.data(), buffer.data(), buffer.bytes());
  return elements;
}

}  // namespace

TEST_CASE("what is copied to a GPU comes back") {
  Device& gpu = need_gpu();
  for (const std::int64_t n : {0L, 1L, 1000L, 5'000'000L}) {
    std::vector<int> elements(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int>(i * 7919);
    const auto buffer = Buffer::allocate(n * 4, gpu);
    gpu.copy_from_host(buffer->data(), elements.data(), n * 4);
    CHECK(fetched<int>(*buffer) == elements);
  }
}

TEST_CASE("memory is filled with elements of any size") {
  Device& gpu = need_gpu();
  const std::uint64_t patterns[] = {
      0, 0xffffffffffffffff, 0x0101010101010101, 0x0123456789abcdef, 0x89abcdef89abcdef, 0x3ff0000000000000};
  for (const int size : {1, 2, 4, 8})
    for (const std::uint64_t bits : patterns)
      for (const std::int64_t count : {1L, 3L, 1000L}) {
        const auto buffer = Buffer::allocate((count + 2) * size, gpu);
        std::vector<std::byte> expected(static_cast<std::size_t>((count + 2) * size), std::byte(0x55));
        gpu.copy_from_host(buffer->data(), expected.data(), buffer->bytes());
        for (std::int64_t i = 0; i < count; ++i)
          std::memcpy(expected.data() + (i + 1) * size, &bits, static_cast<std::size_t>(size));
        gpu.fill(buffer->data() + size, bits, size, count);
        INFO("elements of " << size << " bytes");
        CHECK(fetched<std::byte>(*buffer) == expected);
      }
}

TEST_CASE("a request beyond the GPU's memory is an error with the numbers, and the next small one works") {
  Device& gpu = need_gpu();
  const AllocatorStats before = gpu.allocator().stats();
  Buffer::allocate(1 << 20, gpu);  // goes into the cache
  CHECK_THROWS_WITH(Buffer::allocate(std::int64_t{1} << 44, gpu),
                    ContainsSubstring(gpu.name() + ": out of memory: 17592186044416 bytes requested") &&
                        ContainsSubstring(" in use, ") && ContainsSubstring("free on the device"));
  CHECK(gpu.allocator().stats().in_use == before.in_use);
  CHECK(gpu.allocator().stats().cached == 0);  // given back in vain
  const auto small = Buffer::allocate(1000, gpu);
  gpu.fill(small->data(), 7, 1, 1000);
  CHECK(fetched<char>(*small) == std::vector<char>(1000, 7));
}

TEST_CASE("memory that is cached for one size serves a request of another when the GPU is full") {
  Device& gpu = need_gpu();
  const std::int64_t all = cuda_state().gpus[0].memory;
  gpu.allocator().trim();
  const std::int64_t large = all / 8 * 5;
  std::shared_ptr<Buffer> buffer;
  try {
    buffer = Buffer::allocate(large, gpu);
  } catch (const DeviceError&) {
    SINTER_SKIP("others use most of the GPU's memory");
  }
  buffer.reset();
  CHECK(gpu.allocator().stats().cached >= large);
  CHECK_NOTHROW(Buffer::allocate(large / 4 * 3, gpu));
  gpu.allocator().trim();
}

TEST_CASE("a GPU reaches its own memory and not the host's") {
  Device& gpu = need_gpu();
  const auto buffer = Buffer::allocate(64, gpu);
  CHECK_NOTHROW(gpu.check_reach(buffer->data()));
  const std::vector<float> host(16);
  CHECK_THROWS_WITH(gpu.check_reach(host.data()), ContainsSubstring("memory of the host"));
}
