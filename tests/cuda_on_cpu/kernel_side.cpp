// Linked to every simulated kernel: the indices it reads, and the functions that its instrumentation and its
// prelude call, each of which passes on to the simulator. The instrumentation is g++'s own, of the thread
// sanitizer (every access to memory) and the undefined behaviour sanitizer; their run-time libraries are not
// used, so that a report knows the block and the thread.
#include "tests/cuda_on_cpu/hooks.h"

namespace {

using namespace sinter::testing::cuda_on_cpu;

Hooks hooks;

/// Where the compiler says something stands; the first field of every description it passes.
struct Location {
  const char* file;
  unsigned line, column;
};

struct PointerUse {
  Location at;
  const void* type;
  unsigned char log_alignment, kind;
};

void access(const void* at, std::size_t bytes, bool write, bool aligned, const void* caller) {
  hooks.access(at, bytes, write, aligned, caller);
}

}  // namespace

extern "C" {

Index3 threadIdx, blockIdx, blockDim, gridDim;

__attribute__((visibility("default"))) LaunchIndices simulator_connect(const Hooks* to) {
  hooks = *to;
  return {&threadIdx, &blockIdx, &blockDim, &gridDim};
}

void simulated_sync_block(int line) {
  hooks.sync_block(line);
}
void simulated_sync_warp(int line) {
  hooks.sync_warp(line);
}
void simulated_shuffle_xor(void* x, int bytes, int mask, int line) {
  hooks.shuffle(Shuffle::by_xor, x, bytes, mask, line);
}
void simulated_shuffle_down(void* x, int bytes, int by, int line) {
  hooks.shuffle(Shuffle::down, x, bytes, by, line);
}
void simulated_shuffle_from(void* x, int bytes, int lane, int line) {
  hooks.shuffle(Shuffle::from_lane, x, bytes, lane, line);
}
void* simulated_dynamic_shared() {
  return hooks.dynamic_shared();
}
bool simulated_arrive_last(std::uint32_t* counter, std::uint32_t count, int line) {
  return hooks.arrive_last(counter, count, line);
}
void simulated_cluster_arrive(int line) {
  hooks.cluster_arrive(line);
}
void simulated_cluster_wait(int line) {
  hooks.cluster_wait(line);
}
int simulated_cluster_rank() {
  return hooks.cluster_rank();
}
void simulated_store_to_block(void* mine, int rank, const void* value, int bytes, int line) {
  hooks.store_to_block(mine, rank, value, bytes, line);
}
void simulated_bulk_init(const void* barrier, int line) {
  hooks.bulk_init(barrier, line);
}
void simulated_bulk_load(void* to, const void* from, std::uint32_t bytes, const void* barrier, int line) {
  hooks.bulk_load(to, from, bytes, barrier, line);
}
void simulated_bulk_wait(const void* barrier, std::uint32_t parity, int line) {
  hooks.bulk_wait(barrier, parity, line);
}
void simulated_bulk_prefetch(const void* from, std::uint32_t bytes, int line) {
  hooks.bulk_prefetch(from, bytes, line);
}
std::uint32_t simulated_take_ticket(std::uint32_t* counter, std::uint32_t count, int line) {
  return hooks.take_ticket(counter, count, line);
}
void simulated_send(std::uint64_t* words, const std::uint32_t* halves, int n, int line) {
  hooks.send(words, halves, n, line);
}
void simulated_receive(const std::uint64_t* words, std::uint32_t* halves, int n, int line) {
  hooks.receive(words, halves, n, line);
}
void simulated_clear_received(std::uint64_t* words, int n, std::uint32_t* readers, std::uint32_t count,
                              int line) {
  hooks.clear_received(words, n, readers, count, line);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define ACCESSES(N)                                           \
  void __tsan_read##N(void* at) {                             \
    access(at, N, false, true, __builtin_return_address(0));  \
  }                                                           \
  void __tsan_write##N(void* at) {                            \
    access(at, N, true, true, __builtin_return_address(0));   \
  }                                                           \
  void __tsan_unaligned_read##N(void* at) {                   \
    access(at, N, false, false, __builtin_return_address(0)); \
  }                                                           \
  void __tsan_unaligned_write##N(void* at) {                  \
    access(at, N, true, false, __builtin_return_address(0));  \
  }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __tsan_read_range(void* at, std::size_t bytes) {
  access(at, bytes, false, false, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t bytes) {
  access(at, bytes, true, false, __builtin_return_address(0));
}

#define FOUND(NAME, WHAT)                          \
  void __ubsan_handle_##NAME(const Location* at) { \
    hooks.undefined(WHAT, at->line);               \
  }
FOUND(add_overflow, "a sum overflows")
FOUND(sub_overflow, "a difference overflows")
FOUND(mul_overflow, "a product overflows")
FOUND(negate_overflow, "a negation overflows")
FOUND(divrem_overflow, "a division by zero or an overflowing one")
FOUND(shift_out_of_bounds, "a shift by a negative count, or by the width or more")
FOUND(out_of_bounds, "an index is outside of its array")
FOUND(pointer_overflow, "pointer arithmetic overflows")
FOUND(load_invalid_value, "a bool that is neither true nor false is read")
FOUND(float_cast_overflow, "a float is converted to a whole number that cannot hold it")
FOUND(builtin_unreachable, "a place is reached that cannot be")
FOUND(missing_return, "a function ends without a value")

void __ubsan_handle_type_mismatch_v1(const PointerUse* use, const void* at) {
  hooks.bad_pointer(at, std::size_t{1} << use->log_alignment, use->at.line);
}

}  // extern "C"
