#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/allocator.h"

namespace sinter::runtime {
namespace {

constexpr std::int64_t alignment = 64;
constexpr std::int64_t huge_page = 2 << 20;

/// Maps `block` bytes aligned to a huge page, by mapping more and cutting off both ends. The system refuses
/// what is more than all of its memory.
void* map_huge(std::int64_t block) {
  const auto size = static_cast<std::size_t>(block), slack = static_cast<std::size_t>(huge_page);
  void* mapped = mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (begin + slack - 1) / slack * slack;
  if (aligned > begin) munmap(mapped, aligned - begin);
  if (begin + slack > aligned) munmap(reinterpret_cast<void*>(aligned + size), begin + slack - aligned);
  madvise(reinterpret_cast<void*>(aligned), size, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

class HostMemory final : public BlockSource {
 public:
  void* take(std::int64_t bytes) override {
    if (bytes >= huge_page) return map_huge(bytes);
    return std::aligned_alloc(alignment, static_cast<std::size_t>(bytes));
  }
  void give_back(void* data, std::int64_t bytes) noexcept override {
    if (bytes >= huge_page)
      munmap(data, static_cast<std::size_t>(bytes));
    else
      std::free(data);
  }
  std::string name() const override { return "cpu"; }
};

}  // namespace

BlockSource& host_memory() {
  static HostMemory& memory = *new HostMemory;  // never destroyed, like the allocator
  return memory;
}

CachingAllocator& host_allocator() {
  static CachingAllocator& allocator = []() -> CachingAllocator& {
    const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    // Never destroyed: tensors may live as long as the process.
    return *new CachingAllocator(host_memory(), memory / 4);
  }();
  return allocator;
}

}  // namespace sinter::runtime
