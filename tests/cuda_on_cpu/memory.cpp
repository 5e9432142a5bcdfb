#include "tests/cuda_on_cpu/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sinter::testing::cuda_on_cpu {

Memory::Memory(std::vector<Region> regions) : regions_(std::move(regions)) {
  std::erase_if(regions_, [](const Region& r) { return r.bytes == 0; });
  std::ranges::sort(regions_, {}, &Region::data);
  places_.resize(regions_.size());
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& r = regions_[i];
    if (r.kind != Region::Kind::input)
      places_[i] = std::make_unique<ReservedMemory>(r.bytes / r.element_bytes *
                                                    static_cast<std::int64_t>(sizeof(Place)));
  }
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

bool Memory::written(std::size_t region, std::int64_t element) const {
  return places_[region] && reinterpret_cast<const Place*>(places_[region]->data())[element].write_block != 0;
}

MemoryFault Memory::outside(const std::byte* at, std::size_t bytes, bool write) const {
  const char* verb = write ? "writes" : "reads";
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

std::optional<std::string> Memory::race(const Region& region, const Place& place, bool write, Accessor who,
                                        const Clocks& clocks) const {
  const bool shared = region.kind == Region::Kind::shared;
  const char* verb = write ? "writes" : "reads";
  const auto elsewhere = [&](std::int64_t block) { return !shared && block != who.block + 1; };
  if (place.write_block != 0) {
    if (elsewhere(place.write_block))
      return fmt::format("{} what block {} has written", verb, place.write_block - 1);
    if (!clocks.ordered(place.writer, place.write_time, who.thread))
      return fmt::format("{} what thread {} has written, with no barrier in between", verb, place.writer);
  }
  if (!write || place.read_block == 0) return std::nullopt;
  if (elsewhere(place.read_block)) return fmt::format("writes what block {} has read", place.read_block - 1);
  std::uint32_t others = place.readers;
  if (place.reading_warp == who.thread / Clocks::warp) others &= ~(1u << who.thread % Clocks::warp);
  if (others == 0) return std::nullopt;
  const int reader = place.reading_warp * Clocks::warp + std::countr_zero(others);
  if (clocks.ordered(reader, place.read_time, who.thread)) return std::nullopt;
  return fmt::format("writes what thread {} has read, with no barrier in between", reader);
}

std::optional<MemoryFault> Memory::access(const std::byte* at, std::size_t bytes, bool write, Accessor who,
                                          const Clocks& clocks) {
  const std::optional<std::size_t> found = region_of(at);
  if (!found) return outside(at, bytes, write);
  const Region& region = regions_[*found];
  const std::int64_t offset = at - region.data;
  if (offset + static_cast<std::int64_t>(bytes) > region.bytes)
    return MemoryFault{Fault::out_of_range,
                       fmt::format("{} {} bytes at {}, over the end of {}, which has {} bytes",
                                   write ? "writes" : "reads", bytes, offset, region.name, region.bytes)};
  if (region.kind == Region::Kind::input) {
    if (!write) return std::nullopt;
    return MemoryFault{Fault::read_only, fmt::format("writes to {}, which it may only read", region.name)};
  }
  const bool shared = region.kind == Region::Kind::shared;
  std::optional<MemoryFault> unwritten;
  const auto now = clocks.now(who.thread);
  const auto warp = static_cast<std::uint16_t>(who.thread / Clocks::warp);
  auto* const places = reinterpret_cast<Place*>(places_[*found]->data());
  const std::int64_t end = offset + static_cast<std::int64_t>(bytes);
  for (std::int64_t i = offset / region.element_bytes; i * region.element_bytes < end; ++i) {
    Place& place = places[i];
    if (shared && place.serial != serial_) {
      place = Place{};
      place.serial = serial_;
    }
    const auto where = [&] { return fmt::format("at {} of {}", i * region.element_bytes, region.name); };
    if (!write && place.write_block == 0)
      return MemoryFault{Fault::uninitialised, fmt::format("reads {}, which nothing has written", where())};
    if (const auto text = race(region, place, write, who, clocks))
      return MemoryFault{Fault::race, fmt::format("{} {}", where(), *text)};
    if (write) {
      place.write_block = who.block + 1;
      place.write_time = now;
      place.writer = static_cast<std::uint16_t>(who.thread);
      place.read_block = 0;
      continue;
    }
    const bool same =
        place.read_block == who.block + 1 && place.reading_warp == warp && place.read_time == now;
    place.readers = (same ? place.readers : 0u) | 1u << who.thread % Clocks::warp;
    place.read_block = who.block + 1;
    place.reading_warp = warp;
    place.read_time = now;
  }
  return unwritten;
}

}  // namespace sinter::testing::cuda_on_cpu
