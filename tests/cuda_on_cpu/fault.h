// What a simulated kernel does wrong.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace sinter::testing::cuda_on_cpu {

enum class Fault : std::uint8_t {
  out_of_range,     // an access outside of every buffer and shared array
  read_only,        // a write to an input, or to a counter
  uninitialised,    // a read of shared memory, or of what the kernel computes, that nothing has written
  misaligned,       // an access at an address that its type does not allow
  race,             // two threads access one place, one of them writes, and nothing orders them
  in_flight,        // memory is touched, or a block ends, before a bulk copy has come
  absent_block,     // a store into a block that may not have started, or may have ended
  divergence,       // threads that must meet at one barrier or shuffle do not
  deadlock,         // a thread waits for a copy that nothing starts, or a message that no block sends
  absent_lane,      // a shuffle reads from a lane that has left, or that the block does not have
  counter,          // a counter or message that does not end at 0, or that blocks use in different ways
  coverage,         // launches leave out an element of what they write together, or write one twice
  undefined,        // undefined behaviour of C++, such as an overflow of a signed index
  depends_on_order  // another order of the threads gives other results
};

/// The message names the kernel, the block, the thread, what it did, and where in the text.
class KernelFault : public std::runtime_error {
 public:
  KernelFault(Fault fault, const std::string& message) : std::runtime_error(message), fault(fault) {}

  const Fault fault;
};

}  // namespace sinter::testing::cuda_on_cpu
