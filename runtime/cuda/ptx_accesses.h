// How wide a kernel's loads and stores are, read off its PTX.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// Instructions of one width that access the memory behind one pointer.
struct GlobalAccesses {
  int parameter;  // bytes from the start of the parameter block to the pointer; -1 where that is not clear
  bool is_store;
  int bytes;  // of one access of one thread
  int count;  // of such instructions in the code; one that a loop repeats counts once
};

/// The accesses to global memory of the only kernel in a PTX text, ordered by parameter, loads first, wide
/// ones first. `pointers` are the places of the pointers in the parameter block. Copies from global to shared
/// memory are loads, bulk ones of 16 bytes; atomic operations and prefetches are left out.
/// With a stride the block holds the parameters of several instances, each so many bytes long, and places are
/// those in one.
std::vector<GlobalAccesses> global_accesses(std::string_view ptx, std::span<const int> pointers,
                                            int stride = 0);

}  // namespace sinter::runtime
