#include "tests/cuda_on_cpu/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace sinter::testing::cuda_on_cpu {
namespace {

std::int64_t elements_of(const Region& r) {
  return (r.bytes + r.element_bytes - 1) / r.element_bytes;
}

}  // namespace

Memory::Memory(std::vector<Region> regions, int cluster_blocks)
    : regions_(std::move(regions)), cluster_(cluster_blocks) {
  std::erase_if(regions_, [](const Region& r) { return r.bytes == 0 && r.kind != Region::Kind::shared; });
  std::ranges::sort(regions_, {}, &Region::data);
  places_.resize(regions_.size());
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& r = regions_[i];
    if (r.kind == Region::Kind::input || r.kind == Region::Kind::counters || r.bytes == 0) continue;
    const int copies = r.kind == Region::Kind::shared ? cluster_ : 1;
    places_[i] =
        std::make_unique<ReservedMemory>(elements_of(r) * copies * static_cast<std::int64_t>(sizeof(Place)));
  }
}

Memory::Place* Memory::places(std::size_t region, int rank) const {
  auto* const first = reinterpret_cast<Place*>(places_[region]->data());
  const Region& r = regions_[region];
  return r.kind == Region::Kind::shared ? first + rank * elements_of(r) : first;
}

std::optional<std::size_t> Memory::region_of(const std::byte* at) {
  const auto holds = [&](std::size_t i) {
    return at >= regions_[i].data && at < regions_[i].data + regions_[i].bytes;
  };
  if (last_ < regions_.size() && holds(last_)) return last_;
  const auto next = std::ranges::upper_bound(regions_, at, {}, [](const Region& r) { return r.data; });
  if (next == regions_.begin()) return std::nullopt;
  last_ = static_cast<std::size_t>(next - regions_.begin()) - 1;
  if (!holds(last_)) return std::nullopt;
  return last_;
}

const Region* Memory::region(const std::byte* at, std::size_t bytes) {
  const std::optional<std::size_t> found = region_of(at);
  if (!found) return nullptr;
  const Region& r = regions_[*found];
  return at + bytes <= r.data + r.bytes ? &r : nullptr;
}

MemoryFault Memory::outside(const std::byte* at, std::size_t bytes, const std::string& verb) {
  if (const std::optional<std::size_t> found = region_of(at)) {
    const Region& r = regions_[*found];
    return {Fault::out_of_range, fmt::format("{} {} bytes at {}, over the end of {}, which has {} bytes",
                                             verb, bytes, at - r.data, r.name, r.bytes)};
  }
  const Region* nearest = nullptr;
  std::int64_t distance = 0;
  for (const Region& r : regions_) {
    const std::int64_t beyond = at < r.data ? at - r.data : at - (r.data + r.bytes);
    if (nearest && std::abs(beyond) >= std::abs(distance)) continue;
    nearest = &r;
    distance = beyond;
  }
  if (!nearest) return {Fault::out_of_range, fmt::format("{} {} bytes of no memory it has", verb, bytes)};
  return {Fault::out_of_range,
          fmt::format("{} {} bytes at {} bytes {} of {}, which has {} bytes", verb, bytes, std::abs(distance),
                      distance < 0 ? "before the start" : "past the end", nearest->name, nearest->bytes)};
}

int Memory::writer_of(const std::byte* at, std::size_t bytes, int rank, const Clocks& clocks) {
  const std::optional<std::size_t> found = region_of(at);
  if (!found || regions_[*found].kind != Region::Kind::shared) return -1;
  const Region& region = regions_[*found];
  const std::int64_t begin = at - region.data, end = begin + static_cast<std::int64_t>(bytes);
  const Place* const all = places(*found, rank);
  for (std::int64_t i = begin / region.element_bytes; i * region.element_bytes < end; ++i)
    if (all[i].serial == serial_ && all[i].write_block != 0 && !clocks.is_copy(all[i].writer))
      return clocks.thread_in_block(all[i].writer);
  return -1;
}

std::optional<MemoryFault> Memory::race(const Place& place, bool write, const Accessor& who,
                                        const HappensBefore& order) const {
  const char* verb = write ? "writes" : "reads";
  const auto in_cluster = [&](std::int64_t block) { return (block - 1) / cluster_ == who.block / cluster_; };
  const auto ordered = [&](std::int64_t block, int number, std::uint32_t time, std::uint32_t arrivals) {
    return (in_cluster(block) && order.clocks.ordered(number, time, who.number)) ||
           order.arrivals.ordered(block - 1, arrivals, who.block);
  };
  const auto fault = [&](std::int64_t block, int number, const char* has) -> MemoryFault {
    if (!in_cluster(block))
      return {Fault::race, fmt::format("{} what block {} has {}", verb, block - 1, has)};
    const std::string of_block = block - 1 == who.block ? "" : fmt::format(" of block {}", block - 1);
    return {Fault::race, fmt::format("{} what thread {}{} has {}, with no barrier in between", verb,
                                     order.clocks.thread_in_block(number), of_block, has)};
  };
  if (place.write_block != 0 &&
      !ordered(place.write_block, place.writer, place.write_time, place.write_arrivals)) {
    if (in_cluster(place.write_block) && order.clocks.is_copy(place.writer))
      return MemoryFault{Fault::in_flight,
                         fmt::format("{} what a bulk copy brings, before a wait for it", verb)};
    return fault(place.write_block, place.writer, "written");
  }
  if (!write || place.read_block == 0) return std::nullopt;
  std::uint32_t others = place.readers;
  if (place.reading_warp == who.number / Clocks::warp && place.read_block == who.block + 1)
    others &= ~(1u << who.number % Clocks::warp);
  if (others == 0) return std::nullopt;
  const int reader = place.reading_warp * Clocks::warp + std::countr_zero(others);
  if (ordered(place.read_block, reader, place.read_time, place.read_arrivals)) return std::nullopt;
  return fault(place.read_block, reader, "read");
}

std::optional<MemoryFault> Memory::access_in(int rank, const std::byte* at, std::size_t bytes, bool write,
                                             const Accessor& who, const HappensBefore& order) {
  const std::optional<std::size_t> found = region_of(at);
  if (!found) return outside(at, bytes, write ? "writes" : "reads");
  const Region& region = regions_[*found];
  const std::int64_t offset = at - region.data;
  const std::int64_t end = offset + static_cast<std::int64_t>(bytes);
  if (end > region.bytes) return outside(at, bytes, write ? "writes" : "reads");
  if (region.kind == Region::Kind::input) {
    if (!write) return std::nullopt;
    return MemoryFault{Fault::read_only, fmt::format("writes to {}, which it may only read", region.name)};
  }
  if (region.kind == Region::Kind::counters)
    return MemoryFault{Fault::counter,
                       fmt::format("touches {}, which only arrive_last() and messages may", region.name)};
  const bool shared = region.kind == Region::Kind::shared;
  const auto now = order.clocks.now(who.number);
  const auto warp = static_cast<std::uint16_t>(who.number / Clocks::warp);
  Place* const all = places(*found, rank);
  for (std::int64_t i = offset / region.element_bytes; i * region.element_bytes < end; ++i) {
    Place& place = all[i];
    if (shared && place.serial != serial_) {
      place = Place{};
      place.serial = serial_;
    }
    const auto where = [&] { return fmt::format("at {} of {}", i * region.element_bytes, region.name); };
    if (!write && place.write_block == 0)
      return MemoryFault{Fault::uninitialised, fmt::format("reads {}, which nothing has written", where())};
    if (auto fault = race(place, write, who, order))
      return MemoryFault{fault->fault, fmt::format("{} {}", where(), fault->what)};
    if (write && region.coverage != nullptr && !region.coverage->write(i))
      return MemoryFault{Fault::coverage, fmt::format("writes {} a second time", where())};
    if (write) {
      place.write_block = who.block + 1;
      place.write_time = now;
      place.write_arrivals = who.arrivals;
      place.writer = static_cast<std::uint16_t>(who.number);
      place.read_block = 0;
      continue;
    }
    const bool same = place.read_block == who.block + 1 && place.reading_warp == warp &&
                      place.read_time == now && place.read_arrivals == who.arrivals;
    place.readers = (same ? place.readers : 0u) | 1u << who.number % Clocks::warp;
    place.read_block = who.block + 1;
    place.reading_warp = warp;
    place.read_time = now;
    place.read_arrivals = who.arrivals;
  }
  return std::nullopt;
}

}  // namespace sinter::testing::cuda_on_cpu
