// Kernels without reductions: every element by itself, the innermost axis in vectors as wide as each access allows.
#include <algorithm>
#include <numeric>

#include "codegen/schedule.h"

namespace sinter::codegen {
namespace {

/// Elements that one thread of a GPU handles at once: 16 bytes of the narrowest tensor that lies along the innermost
/// axis, halved until it divides the axis, every stride across it, and every tensor's alignment.
int vector_width(const Kernel& k, const DeviceDescription& device) {
  if (k.axes.empty()) return 1;
  const int innermost = static_cast<int>(k.axes.size()) - 1;
  std::int64_t divisor = k.axes.back().extent.known_divisor(k.facts);
  int narrowest = 8;
  auto see = [&](int buffer, const Affine& address) {
    if (!address.factor(innermost).is(1)) return;
    const KernelBuffer& b = k.buffers[static_cast<std::size_t>(buffer)];
    narrowest = std::min(narrowest, size_of(b.dtype));
    auto bound = [&](std::int64_t d) { divisor = d == 0 ? divisor : std::gcd(divisor, d); };
    bound(b.alignment / size_of(b.dtype));
    bound(address.constant.known_divisor(k.facts));
    for (const Term& t : address.terms)
      if (t.atom != innermost) bound(t.factor.known_divisor(k.facts));
  };
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::load) see(v.buffer, v.address);
  for (const KernelStore& s : k.stores) see(s.buffer, s.address);
  int width = device.vector_bytes / narrowest;
  while (width > 1 && divisor % width != 0) width /= 2;
  return width;
}

}  // namespace

std::optional<Schedule> choose_pointwise(const Kernel& k, const DeviceDescription& device, std::string& why) {
  if (k.has_reduction()) {
    why = "pointwise: the kernel folds an axis";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "pointwise";
  const bool cpu = device.target.backend == Backend::cpu;
  for (std::size_t i = 0; i < k.axes.size(); ++i) {
    const bool innermost = i + 1 == k.axes.size();
    if (cpu)
      s.axes.push_back(innermost ? std::vector<Factor>{{Level::thread}, {Level::vector}} : std::vector<Factor>{{Level::thread}});
    else
      s.axes.push_back({{Level::grid}});
  }
  if (!cpu) {
    s.block_threads = 256;
    s.vector = vector_width(k, device);
    if (!s.axes.empty()) {
      s.axes.back().push_back({Level::block, s.block_threads});
      if (s.vector > 1) s.axes.back().push_back({Level::vector, s.vector});
    }
  }
  return s;
}

}  // namespace sinter::codegen
