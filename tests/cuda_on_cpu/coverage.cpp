#include "tests/cuda_on_cpu/coverage.h"

#include <algorithm>
#include <cstring>

namespace sinter::testing::cuda_on_cpu {

Coverage::Coverage(std::byte* data, std::int64_t bytes, int element_bytes)
    : data_(data),
      elements_(bytes / element_bytes),
      element_bytes_(element_bytes),
      states_(std::max<std::int64_t>(1, elements_)) {}

void Coverage::begin(int pattern) {
  const auto size = static_cast<std::size_t>(element_bytes_);
  if (is_new_) std::memset(data_, pattern, static_cast<std::size_t>(elements_) * size);
  for (std::int64_t i = 0; i < elements_; ++i) {
    if (states()[i] == before) continue;
    states()[i] = missing;
    if (!is_new_) std::memset(data_ + i * element_bytes_, pattern, size);
  }
}

bool Coverage::write(std::int64_t element) {
  if (!complete_) return true;
  if (states()[element] != missing) return false;
  states()[element] = now;
  return true;
}

std::vector<std::byte> Coverage::written() const {
  const auto size = static_cast<std::size_t>(element_bytes_);
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements_) * size);
  for (std::int64_t i = 0; i < elements_; ++i)
    if (states()[i] == now) std::memcpy(bytes.data() + i * element_bytes_, data_ + i * element_bytes_, size);
  bytes.insert(bytes.end(), states_.data(), states_.data() + elements_);
  return bytes;
}

void Coverage::end() {
  std::replace(states(), states() + elements_, now, before);
  is_new_ = false;
}

std::int64_t Coverage::first_missing() const {
  if (!complete_) return -1;
  const State* const found = std::find(states(), states() + elements_, missing);
  return found == states() + elements_ ? -1 : found - states();
}

}  // namespace sinter::testing::cuda_on_cpu
