#include "runtime/cuda/fork.h"

#include <pthread.h>

#include <atomic>

namespace sinter::runtime::cuda {
namespace {

std::atomic<bool> forked{false};

}  // namespace

void note_use() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  static_cast<void>(registered);
}

bool is_forked() {
  return forked.load(std::memory_order_relaxed);
}

}  // namespace sinter::runtime::cuda
