#include "samples/bench/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "samples/bench/clock.h"

namespace bench {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// "32768K" or "32M", as the files of sysfs have it.
std::size_t parse_size(const std::string& text) {
  std::size_t end = 0;
  const std::size_t number = text.empty() ? 0 : std::stoul(text, &end);
  const char unit = end < text.size() ? text[end] : ' ';
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

/// Compiled so that the compiler does not call memcpy for it (samples/tool/CMakeLists.txt).
void copy_by_loop(const std::uint64_t* __restrict from, std::uint64_t* __restrict to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace

std::size_t last_level_cache() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::string text;
    if (file >> text) largest = std::max(largest, parse_size(text));
  }
  return largest > 0 ? largest : 32 * mib;
}

Memory::Memory(Team& team)
    : team_(team),
      bytes_(std::clamp(2 * last_level_cache(), 64 * mib, 1024 * mib)),
      from_(new std::byte[bytes_]),
      to_(new std::byte[bytes_]) {
  team_.run(bytes_, [&](std::size_t begin, std::size_t end) {
    std::memset(from_.get() + begin, 1, end - begin);
    std::memset(to_.get() + begin, 2, end - begin);
  });
}

double Memory::copy_bandwidth(double seconds) {
  auto gb_per_second = [&](const std::function<void(std::size_t, std::size_t)>& copy) {
    const Timing timing = measure(
        seconds / 2, [] {}, [&] { team_.run(bytes_, copy); });
    return 2 * static_cast<double>(bytes_) / timing.median / 1e6;
  };
  const double by_memcpy = gb_per_second([&](std::size_t begin, std::size_t end) {
    std::memcpy(to_.get() + begin, from_.get() + begin, end - begin);
  });
  const double by_loop = gb_per_second([&](std::size_t begin, std::size_t end) {
    copy_by_loop(reinterpret_cast<const std::uint64_t*>(from_.get() + begin),
                 reinterpret_cast<std::uint64_t*>(to_.get() + begin), (end - begin) / sizeof(std::uint64_t));
  });
  return std::max(by_memcpy, by_loop);
}

void Memory::flush() {
  std::atomic<std::uint64_t> sum{0};
  team_.run(bytes_, [&](std::size_t begin, std::size_t end) {
    std::uint64_t part = 0;
    for (const auto* array : {from_.get(), to_.get()})
      for (std::size_t i = begin; i < end; i += 64) part += std::to_integer<std::uint64_t>(array[i]);
    sum += part;
  });
  if (sum == 0) std::abort();  // the reads must be seen to have happened
}

}  // namespace bench
