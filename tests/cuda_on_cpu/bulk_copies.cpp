#include "tests/cuda_on_cpu/bulk_copies.h"

#include <fmt/format.h>

#include <cstring>

namespace sinter::testing::cuda_on_cpu {

std::string BulkCopies::refuses_init(const void* barrier) const {
  if (const auto found = barriers_.find(barrier); found != barriers_.end())
    return found->second.under_way ? "makes a barrier anew while its copy is under way" : "";
  if (barriers_.size() == Clocks::most_copies)
    return fmt::format("makes more barriers for bulk copies than {}, which the simulator has room for",
                       Clocks::most_copies);
  return "";
}

std::string BulkCopies::refuses_start(const void* barrier) const {
  const auto found = barriers_.find(barrier);
  if (found == barriers_.end()) return "starts a bulk copy at what bulk_init() has not made";
  if (found->second.under_way) return "starts a bulk copy at a barrier whose last one nothing has waited for";
  return "";
}

void BulkCopies::init(const void* barrier) {
  const int next = static_cast<int>(barriers_.size());
  const auto [at, is_new] = barriers_.try_emplace(barrier);
  const int slot = is_new ? next : at->second.slot;
  at->second = Barrier{};
  at->second.slot = slot;
}

void BulkCopies::start(const void* barrier, std::byte* to, const std::byte* from, std::size_t bytes,
                       int line) {
  Barrier& b = barriers_.at(barrier);
  b.under_way = true;
  b.to = to;
  b.from = from;
  b.bytes = bytes;
  b.line = line;
  std::memset(to, 0xff, bytes);
}

bool BulkCopies::try_wait(const void* barrier, std::uint32_t parity, Clocks& clocks, int rank,
                          Clocks::Times& knowledge) {
  Barrier& b = barriers_.at(barrier);
  if (b.ended % 2 == parity % 2) {  // for the copy that has not ended
    if (!b.under_way) return false;
    std::memcpy(b.to, b.from, b.bytes);
    b.under_way = false;
    ++b.ended;
    b.knowledge = clocks.end_copy(clocks.copy_number(rank, b.slot));
  }
  knowledge = b.knowledge;
  return true;
}

int BulkCopies::line_under_way() const {
  for (const auto& [at, barrier] : barriers_)
    if (barrier.under_way) return barrier.line;
  return 0;
}

}  // namespace sinter::testing::cuda_on_cpu
