#include "tests/support/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace sinter::testing {
namespace {

constexpr std::size_t distance = std::size_t{8} << 30;  // of lonely memory from others

std::int64_t page() {
  return sysconf(_SC_PAGESIZE);
}

std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + page() - 1) / page() * page();
}

}  // namespace

ReservedMemory::ReservedMemory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
  void* const block =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(block);
}

ReservedMemory::~ReservedMemory() {
  munmap(data_, bytes_);
}

GuardedMemory::GuardedMemory(std::int64_t bytes, Against edge) : pages_(whole_pages(bytes) + 2 * page()) {
  std::byte* const begin = pages_.data() + page();
  std::byte* const end = begin + whole_pages(bytes);
  mprotect(pages_.data(), static_cast<std::size_t>(page()), PROT_NONE);
  mprotect(end, static_cast<std::size_t>(page()), PROT_NONE);
  data_ = edge == Against::end ? end - bytes : begin;
}

LonelyMemory::LonelyMemory(std::int64_t bytes, int alignment)
    : inner_(static_cast<std::size_t>(bytes + alignment)), reserved_(inner_ + 2 * distance) {
  void* const all = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  all_ = static_cast<std::byte*>(all);
  if (mprotect(all_ + distance, inner_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  data_ = all_ + distance + alignment;
}

LonelyMemory::~LonelyMemory() {
  munmap(all_, reserved_);
}

}  // namespace sinter::testing
