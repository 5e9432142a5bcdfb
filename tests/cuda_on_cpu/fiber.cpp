// A fiber runs one body after the other. Going from one stack to another is a few instructions of our own:
// swapcontext makes a system call each time, and under the address sanitizer longjmp clears a whole stack.
#include "tests/cuda_on_cpu/fiber.h"

#include <algorithm>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "the simulator of CUDA switches stacks on x86-64 alone"
#endif

// Puts what a function has to leave as it was onto the stack, keeps the stack's pointer in *from, and takes
// all of that from the stack `to`. Ends in a jump, which processors predict better than a return to a place
// that they have not been called from.
extern "C" void sinter_switch_stack(void** from, void* to);
asm(R"(
.text
.type sinter_switch_stack, @function
sinter_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size sinter_switch_stack, . - sinter_switch_stack
)");

namespace sinter::testing::cuda_on_cpu {
namespace {

/// The fiber that is being entered for the first time.
Fibers* entering = nullptr;

/// A stack that sinter_switch_stack takes to the start of a function without parameters, aligned as a call
/// would leave it.
void* fresh_stack(std::byte* end, void (*start)()) {
  constexpr int kept = 6;  // registers
  void** top = reinterpret_cast<void**>(end);
  *--top = nullptr;  // where the function would return to
  *--top = reinterpret_cast<void*>(start);
  top -= kept;
  std::fill_n(top, kept, nullptr);
  return top;
}

}  // namespace

struct Fibers::Fiber {
  explicit Fiber(std::byte* stack) : stack(stack) {}

  std::byte* const stack;
  bool started = false, ended = true;
  void* place = nullptr;  // its stack, as far as it is used
  void* fake_stack = nullptr;
};

Fibers::Fibers() : memory_(most * static_cast<std::int64_t>(stack_bytes)) {
  for (std::size_t i = 0; i < most; ++i)
    fibers_.push_back(std::make_unique<Fiber>(memory_.data() + i * stack_bytes));
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

void Fibers::enter() {
  entering->run(*entering->running_);
}

void Fibers::switch_to_fiber(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&caller_fake_stack_, fiber.stack, stack_bytes);
#endif
  if (!fiber.started) {
    fiber.started = true;
    fiber.place = fresh_stack(fiber.stack + stack_bytes, enter);
    entering = this;
  }
  sinter_switch_stack(&caller_, fiber.place);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
}

void Fibers::switch_to_caller(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber.fake_stack, caller_stack_, caller_stack_bytes_);
#endif
  sinter_switch_stack(&fiber.place, caller_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &caller_stack_, &caller_stack_bytes_);
#endif
}

Fibers& fibers() {
  static Fibers all;
  return all;
}

}  // namespace sinter::testing::cuda_on_cpu
