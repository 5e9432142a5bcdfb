// A fiber is started by ucontext and from then on switched to by setjmp and longjmp, which, unlike
// swapcontext, make no system call. It runs one body after the other.
#include "tests/cuda_on_cpu/fiber.h"

#include <ucontext.h>

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace sinter::testing::cuda_on_cpu {

struct Fibers::Fiber {
  Fiber(Fibers* owner, std::byte* stack) : owner(owner), stack(stack) {}

  Fibers* const owner;
  std::byte* const stack;
  bool started = false, ended = true;
  std::jmp_buf place;
  void* fake_stack = nullptr;
};

Fibers::Fibers() : memory_(most * static_cast<std::int64_t>(stack_bytes)) {
  for (std::size_t i = 0; i < most; ++i)
    fibers_.push_back(std::make_unique<Fiber>(this, memory_.data() + i * stack_bytes));
}

Fibers::~Fibers() = default;

void Fibers::reset() {
  for (auto& fiber : fibers_) {
    fiber->started = false;
    fiber->ended = true;
  }
}

bool Fibers::resume(int number, const std::function<void()>& body) {
  Fiber& fiber = *fibers_[static_cast<std::size_t>(number)];
  if (fiber.ended) body_ = &body;
  fiber.ended = false;
  running_ = &fiber;
  switch_to_fiber(fiber);
  running_ = nullptr;
  return fiber.ended;
}

void Fibers::suspend() {
  switch_to_caller(*running_);
}

void Fibers::abandon() {
  switch_to_caller(*running_);
  __builtin_unreachable();
}

void Fibers::run(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &caller_stack_, &caller_stack_bytes_);
#endif
  for (;;) {
    (*body_)();
    fiber.ended = true;
    switch_to_caller(fiber);
  }
}

void Fibers::enter(unsigned high, unsigned low) {
  auto* fiber = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
  fiber->owner->run(*fiber);
}

void Fibers::switch_to_fiber(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&caller_fake_stack_, fiber.stack, stack_bytes);
#endif
  if (_setjmp(caller_) == 0) {
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack;
    context.uc_stack.ss_size = stack_bytes;
    const auto address = reinterpret_cast<std::uintptr_t>(&fiber);
    makecontext(&context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
    setcontext(&context);
  }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
}

void Fibers::switch_to_caller(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber.fake_stack, caller_stack_, caller_stack_bytes_);
#endif
  if (_setjmp(fiber.place) == 0) _longjmp(caller_, 1);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &caller_stack_, &caller_stack_bytes_);
#endif
}

}  // namespace sinter::testing::cuda_on_cpu
