// Which elements of an output have been written, where several launches may write a part of it each: together
// they must write every one exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/guarded_memory.h"

namespace sinter::testing::cuda_on_cpu {

class Coverage {
 public:
  /// Of an output that lies here, and of which nothing is written.
  Coverage(std::byte* data, std::int64_t bytes, int element_bytes);

  /// A launch begins, or begins again in another order: it has written nothing, and finds the pattern where
  /// no launch before it has written.
  void begin(int pattern);
  /// False where the element has been written, by this launch or by one before, and that is known.
  bool write(std::int64_t element);
  /// What the launch has written, and which elements those are, as bytes that are the same for all orders.
  std::vector<std::byte> written() const;
  /// The launch has run in all orders.
  void end();
  /// The launch runs only some of its blocks, so that no one knows what all of them write.
  void give_up() { complete_ = false; }

  /// The first element that no launch has written; -1: there is none, or no one knows.
  std::int64_t first_missing() const;

 private:
  enum State : std::uint8_t { missing, before, now };

  State* states() const { return reinterpret_cast<State*>(states_.data()); }

  std::byte* data_;
  std::int64_t elements_;
  int element_bytes_;
  bool is_new_ = true, complete_ = true;
  ReservedMemory states_;  // of each element
};

}  // namespace sinter::testing::cuda_on_cpu
