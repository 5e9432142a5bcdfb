// Stacks that take turns on one thread of the system.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/guarded_memory.h"

namespace sinter::testing::cuda_on_cpu {

class Fibers {
 public:
  static constexpr int most = 32 * 1024;
  // No power of two, so that the same places of all stacks do not share sets of the processor's caches.
  static constexpr std::size_t stack_bytes = (64 << 10) + 832;

  Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// Runs `body` on the fiber from its start, or goes on where it was suspended, until it is suspended or
  /// ends. True if it has ended.
  bool resume(int fiber, const std::function<void()>& body);
  /// Called on a fiber: goes back to resume().
  void suspend();
  /// Called on a fiber that shall never go on, and whose stack holds nothing to be destroyed.
  [[noreturn]] void abandon();
  /// Forgets all that is suspended.
  void reset();

  /// Whether an address lies on one of the stacks.
  bool on_stack(const void* at) const {
    return at >= memory_.data() && at < memory_.data() + most * stack_bytes;
  }

 private:
  struct Fiber;
  static void enter();
  void run(Fiber& fiber);
  void switch_to_fiber(Fiber& fiber);
  void switch_to_caller(Fiber& fiber);

  ReservedMemory memory_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* running_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  void* caller_ = nullptr;  // its stack, as far as it is used
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

/// Those that all launches of the process use, one launch at a time.
Fibers& fibers();

}  // namespace sinter::testing::cuda_on_cpu
