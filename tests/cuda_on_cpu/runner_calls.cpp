// What a kernel calls, on the stack of the thread that calls it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_on_cpu/fiber.h"
#include "tests/cuda_on_cpu/runner.h"

namespace sinter::testing::cuda_on_cpu {
namespace {

/// The launch that is running; what a kernel calls finds it here.
Runner* active = nullptr;

std::string misalignment(const void* at, std::size_t alignment) {
  return fmt::format("an access needs an address that {} divides; this one is {} bytes beyond", alignment,
                     reinterpret_cast<std::uintptr_t>(at) % alignment);
}

}  // namespace

Runner::~Runner() {
  active = nullptr;
}

Hooks Runner::hooks() {
  active = this;
  Hooks h;
  h.access = [](const void* at, std::size_t bytes, bool write, bool aligned, const void* caller) {
    active->access(at, bytes, write, aligned, caller);
  };
  h.undefined = [](const char* what, unsigned line) {
    active->stop(Fault::undefined, what, static_cast<int>(line));
  };
  h.bad_pointer = [](const void* at, std::size_t alignment, unsigned line) {
    active->bad_pointer(at, alignment, line);
  };
  h.sync_block = [](int line) { active->wait(State::at_block_barrier, line); };
  h.sync_warp = [](int line) { active->wait(State::at_warp_barrier, line); };
  h.shuffle = [](Shuffle kind, void* value, int bytes, int by, int line) {
    active->shuffle(kind, value, bytes, by, line);
  };
  h.dynamic_shared = []() -> void* { return active->dynamic_shared_; };
  h.arrive_last = [](std::uint32_t* counter, std::uint32_t count, int line) {
    return active->arrive_last(counter, count, line);
  };
  h.cluster_arrive = [](int line) { active->wait(State::at_cluster_arrival, line); };
  h.cluster_wait = [](int line) { active->wait(State::at_cluster_wait, line); };
  h.cluster_rank = [] { return active->rank_of(active->current_); };
  h.store_to_block = [](void* mine, int rank, const void* value, int bytes, int line) {
    active->store_to_block(mine, rank, value, static_cast<std::size_t>(bytes), line);
  };
  h.bulk_init = [](const void* barrier, int line) { active->init_copy(barrier, line); };
  h.bulk_load = [](void* to, const void* from, std::uint32_t bytes, const void* barrier, int line) {
    active->load_copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, barrier, line);
  };
  h.bulk_wait = [](const void* barrier, std::uint32_t parity, int line) {
    active->wait_copy(barrier, parity, line);
  };
  h.bulk_prefetch = [](const void* from, std::uint32_t bytes, int line) {
    active->prefetch(static_cast<const std::byte*>(from), bytes, line);
  };
  h.take_ticket = [](std::uint32_t* counter, std::uint32_t count, int line) {
    return active->take_ticket(counter, count, line);
  };
  h.send = [](std::uint64_t* words, const std::uint32_t* halves, int n, int line) {
    active->send(words, halves, n, line);
  };
  h.receive = [](const std::uint64_t* words, std::uint32_t* halves, int n, int line) {
    active->receive(words, halves, n, line);
  };
  h.clear_received = [](std::uint64_t* words, int n, std::uint32_t* readers, std::uint32_t count, int line) {
    active->clear_received(words, n, readers, count, line);
  };
  return h;
}

/// Until the scheduler lets the thread go on.
void Runner::wait(State state, int line, const void* place, std::uint32_t number) {
  Thread& t = thread(current_);
  t.state = state;
  t.line = line;
  t.place = place;
  t.number = number;
  fibers().suspend();
}

void Runner::shuffle(Shuffle kind, void* value, int bytes, int by, int line) {
  Thread& t = thread(current_);
  t.shuffle = kind;
  t.by = by;
  std::memcpy(t.value, value, static_cast<std::size_t>(bytes));
  wait(State::at_shuffle, line);
  std::memcpy(value, t.value, static_cast<std::size_t>(bytes));
}

Accessor Runner::accessor() const {
  const int rank = rank_of(current_), in_block = current_ - first_of(rank);
  return {first_block_ + rank, rank, in_block, clocks_.thread_number(rank, in_block),
          block_at(rank).arrivals};
}

void Runner::access(const void* at, std::size_t bytes, bool write, bool aligned, const void* caller) {
  if (fibers().on_stack(at)) return;
  if (aligned && reinterpret_cast<std::uintptr_t>(at) % bytes != 0)
    leave({Fault::misaligned, current_, misalignment(at, bytes), 0, caller});
  auto fault =
      memory_.access(static_cast<const std::byte*>(at), bytes, write, accessor(), {clocks_, arrivals_});
  if (!fault) return;
  Found found{fault->fault, current_, std::move(fault->what), 0, caller};
  if (found.fault != Fault::uninitialised) leave(std::move(found));
  if (!unwritten_) unwritten_ = std::move(found);
}

void Runner::check_counter(const void* at, std::size_t bytes, std::size_t alignment, const char* what,
                           int line) {
  const Region* region = memory_.region(static_cast<const std::byte*>(at), bytes);
  if (!region || region->kind != Region::Kind::counters) stop(Fault::counter, what, line);
  if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0)
    stop(Fault::misaligned, misalignment(at, alignment), line);
}

bool Runner::arrive_last(std::uint32_t* counter, std::uint32_t count, int line) {
  check_counter(counter, sizeof *counter, sizeof *counter, "arrives at what is no counter", line);
  wait(State::at_counter, line, counter, count);
  return thread(current_).is_last;
}

std::uint32_t Runner::take_ticket(std::uint32_t* counter, std::uint32_t count, int line) {
  check_counter(counter, sizeof *counter, sizeof *counter, "takes a ticket from what is no counter", line);
  wait(State::at_ticket, line, counter, count);
  return thread(current_).ticket;
}

void Runner::send(std::uint64_t* words, const std::uint32_t* halves, int n, int line) {
  check_counter(words, static_cast<std::size_t>(n) * sizeof *words, sizeof *words,
                "sends a message to what is not for any", line);
  for (int i = 0; i < n; ++i) {
    if (words[i] != 0) stop(Fault::counter, "sends a message where another was not cleared", line);
    words[i] = std::uint64_t{1} << 32 | halves[i];
  }
}

void Runner::receive(const std::uint64_t* words, std::uint32_t* halves, int n, int line) {
  check_counter(words, static_cast<std::size_t>(n) * sizeof *words, sizeof *words,
                "waits for a message where none can be", line);
  wait(State::at_message, line, words, static_cast<std::uint32_t>(n));
  for (int i = 0; i < n; ++i) halves[i] = static_cast<std::uint32_t>(words[i]);
}

void Runner::clear_received(std::uint64_t* words, int n, std::uint32_t* readers, std::uint32_t count,
                            int line) {
  check_counter(words, static_cast<std::size_t>(n) * sizeof *words, sizeof *words,
                "clears what is no message", line);
  check_counter(readers, sizeof *readers, sizeof *readers, "counts readers in what is no counter", line);
  if (!has_read_.insert({readers, accessor().block}).second)
    stop(Fault::counter, "has received a message a second time", line);
  if (*readers >= count) stop(Fault::counter, fmt::format("is reader {} of {}", *readers + 1, count), line);
  if (++*readers < count) return;
  *readers = 0;
  std::fill_n(words, n, std::uint64_t{0});
}

void Runner::store_to_block(void* mine, int rank, const void* value, std::size_t bytes, int line) {
  auto* const at = static_cast<std::byte*>(mine);
  if (rank < 0 || rank >= launch_.cluster)
    stop(Fault::absent_block, fmt::format("stores into block {} of a cluster of {}", rank, launch_.cluster),
         line);
  const Region* region = memory_.region(at, bytes);
  if (!region) stop(memory_.outside(at, bytes, "stores to another block"), line);
  if (region->kind != Region::Kind::shared)
    stop(Fault::out_of_range,
         fmt::format("stores to another block through {}, which is not shared memory", region->name), line);
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0)
    stop(Fault::misaligned, misalignment(at, bytes), line);
  const Accessor who = accessor();
  if (auto fault = memory_.write_in(rank, at, bytes, who, {clocks_, arrivals_}))
    stop(std::move(*fault), line);
  if (rank != who.rank) {
    if (!clocks_.knows_start(who.number, rank))
      stop(Fault::absent_block,
           fmt::format(
               "stores into block {}, which may not have started: no wait for the cluster comes before",
               first_block_ + rank),
           line);
    block_at(rank).stored[{who.rank, who.thread / warp}] = {current_, who.number, line,
                                                            clocks_.now(who.number)};
  }
  std::byte* to = at;
  if (rank != in_place_) {
    std::size_t before = 0;
    for (const Region& r : shared_) {
      if (at >= r.data && at < r.data + r.bytes) {
        to = block_at(rank).shared.data() + before + (at - r.data);
        break;
      }
      before += static_cast<std::size_t>(r.bytes);
    }
  }
  std::memcpy(to, value, bytes);
}

void Runner::check_multiple_of_16(std::uint64_t x, const char* what, int line) {
  if (x % 16 != 0)
    stop(Fault::misaligned, fmt::format("{} of a bulk copy is {} beyond a multiple of 16", what, x % 16),
         line);
}

/// A barrier is touched, which lies in shared memory.
void Runner::touch_barrier(const void* barrier, bool write, int line) {
  constexpr std::size_t bytes = 8;
  const auto* const at = static_cast<const std::byte*>(barrier);
  const Region* region = memory_.region(at, bytes);
  if (!region) stop(memory_.outside(at, bytes, "has a barrier of"), line);
  if (region->kind != Region::Kind::shared)
    stop(Fault::out_of_range, fmt::format("a barrier in {}, which is not shared memory", region->name), line);
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0)
    stop(Fault::misaligned, misalignment(at, bytes), line);
  if (auto fault = memory_.access(at, bytes, write, accessor(), {clocks_, arrivals_}))
    stop(std::move(*fault), line);
}

void Runner::init_copy(const void* barrier, int line) {
  touch_barrier(barrier, true, line);
  BulkCopies& copies = block_at(rank_of(current_)).copies;
  if (std::string text = copies.refuses_init(barrier); !text.empty()) stop(Fault::in_flight, text, line);
  copies.init(barrier);
}

void Runner::load_copy(std::byte* to, const std::byte* from, std::uint32_t bytes, const void* barrier,
                       int line) {
  check_multiple_of_16(reinterpret_cast<std::uintptr_t>(to), "the destination", line);
  check_multiple_of_16(reinterpret_cast<std::uintptr_t>(from), "the source", line);
  check_multiple_of_16(bytes, "the number of bytes", line);
  touch_barrier(barrier, false, line);
  const Accessor who = accessor();
  BulkCopies& copies = block_at(who.rank).copies;
  if (std::string text = copies.refuses_start(barrier); !text.empty()) stop(Fault::in_flight, text, line);
  const Region* source = memory_.region(from, bytes);
  if (!source) stop(memory_.outside(from, bytes, "copies"), line);
  if (source->kind != Region::Kind::input)
    stop(Fault::race, fmt::format("a bulk copy reads {}, which is not an input", source->name), line);
  const Region* destination = memory_.region(to, bytes);
  if (!destination) stop(memory_.outside(to, bytes, "copies"), line);
  if (destination->kind != Region::Kind::shared)
    stop(Fault::out_of_range, fmt::format("a bulk copy to {}, which is not shared memory", destination->name),
         line);
  if (const int writer = memory_.writer_of(to, bytes, who.rank, clocks_); writer >= 0)
    stop(Fault::race,
         fmt::format("a bulk copy overwrites what thread {} has written: nothing orders the two", writer),
         line);
  if (auto fault = memory_.access(to, bytes, true, who, {clocks_, arrivals_})) stop(std::move(*fault), line);
  Accessor copy = who;
  copy.number = clocks_.copy_number(who.rank, copies.slot(barrier));
  clocks_.start_copy(copy.number, who.number);
  if (auto fault = memory_.access(to, bytes, true, copy, {clocks_, arrivals_})) stop(std::move(*fault), line);
  copies.start(barrier, to, from, bytes, line);
}

void Runner::wait_copy(const void* barrier, std::uint32_t parity, int line) {
  touch_barrier(barrier, false, line);
  if (!block_at(rank_of(current_)).copies.is_made(barrier))
    stop(Fault::deadlock, "waits at what bulk_init() has not made", line);
  wait(State::at_copy_wait, line, barrier, parity);
}

void Runner::prefetch(const std::byte* from, std::uint32_t bytes, int line) {
  check_multiple_of_16(reinterpret_cast<std::uintptr_t>(from), "the source", line);
  check_multiple_of_16(bytes, "the number of bytes", line);
  const Region* source = memory_.region(from, bytes);
  if (!source) stop(memory_.outside(from, bytes, "fetches"), line);
  if (source->kind == Region::Kind::shared)
    stop(Fault::out_of_range, fmt::format("fetches {}, which is not global memory", source->name), line);
}

void Runner::bad_pointer(const void* at, std::size_t alignment, unsigned line) {
  if (at == nullptr) leave({Fault::out_of_range, current_, "a null pointer is used", line});
  leave({Fault::misaligned, current_, misalignment(at, alignment), line});
}

void Runner::stop(MemoryFault fault, int line) {
  stop(fault.fault, std::move(fault.what), line);
}

void Runner::stop(Fault fault, std::string what, int line) {
  leave({fault, current_, std::move(what), static_cast<unsigned>(line)});
}

void Runner::leave(Found fault) {
  found_ = std::move(fault);
  fibers().abandon();
}

}  // namespace sinter::testing::cuda_on_cpu
