// Memory whose neighbourhood cannot be touched, and address space of which only what is touched takes memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::testing {

/// Pages that are there once they are touched.
class ReservedMemory {
 public:
  explicit ReservedMemory(std::int64_t bytes);
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;
  ~ReservedMemory();

  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// A block that ends where a page without access begins, or begins where one ends, so that a read or write
/// beyond it ends the process.
class GuardedMemory {
 public:
  enum class Against { end, start };
  GuardedMemory(std::int64_t bytes, Against edge);

  std::byte* data() const { return data_; }

 private:
  ReservedMemory pages_;
  std::byte* data_;
};

/// Memory far from everything else: a step beyond it, however wrong, is not a step into another block. Pages
/// are there once they are touched. The address is a multiple of `alignment`, and of no greater power of two.
class LonelyMemory {
 public:
  LonelyMemory(std::int64_t bytes, int alignment);
  LonelyMemory(const LonelyMemory&) = delete;
  LonelyMemory& operator=(const LonelyMemory&) = delete;
  ~LonelyMemory();

  std::byte* data() const { return data_; }

 private:
  std::size_t inner_, reserved_;
  std::byte *all_, *data_;
};

}  // namespace sinter::testing
