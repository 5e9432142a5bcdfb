#include "codegen/device.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

// Shared memory per block: CUDA C++ Programming Guide, table of technical specifications per compute
// capability, and the toolkit's cuda_occupancy.h. Multiprocessors: of the largest product of the
// architecture. Clusters: 8 blocks everywhere, 16 on the large ones where a kernel asks for it.
const std::array descriptions{
    DeviceDescription{Target::cpu(), 64, 1, 1, 1, 0, 0},
    DeviceDescription{Target::cuda("sm_75"), 16, 32, 1024, 72, 64 << 10, 65536},
    DeviceDescription{Target::cuda("sm_80"), 16, 32, 1024, 108, 163 << 10, 65536},
    DeviceDescription{Target::cuda("sm_86"), 16, 32, 1024, 84, 99 << 10, 65536},
    DeviceDescription{Target::cuda("sm_87"), 16, 32, 1024, 16, 163 << 10, 65536},
    DeviceDescription{Target::cuda("sm_88"), 16, 32, 1024, 16, 99 << 10, 65536},
    DeviceDescription{Target::cuda("sm_89"), 16, 32, 1024, 142, 99 << 10, 65536},
    DeviceDescription{Target::cuda("sm_90"), 16, 32, 1024, 132, 227 << 10, 65536, 16, true, true, 50 << 20},
    DeviceDescription{Target::cuda("sm_90a"), 16, 32, 1024, 132, 227 << 10, 65536, 16, true, true, 50 << 20},
    DeviceDescription{Target::cuda("sm_100"), 16, 32, 1024, 148, 227 << 10, 65536, 16, true, true},
    DeviceDescription{Target::cuda("sm_103"), 16, 32, 1024, 148, 227 << 10, 65536, 16, true, true},
    DeviceDescription{Target::cuda("sm_110"), 16, 32, 1024, 20, 227 << 10, 65536, 8, true, true},
    DeviceDescription{Target::cuda("sm_120"), 16, 32, 1024, 188, 99 << 10, 65536, 8, true, true},
    DeviceDescription{Target::cuda("sm_121"), 16, 32, 1024, 48, 99 << 10, 65536, 8, true, true},
};

}  // namespace

const DeviceDescription& describe(const Target& target) {
  constexpr std::string_view virtual_prefix = "compute_";
  if (target.arch.starts_with(virtual_prefix))
    return describe(Target::cuda("sm_" + target.arch.substr(virtual_prefix.size())));
  const auto at = std::ranges::find(descriptions, target, &DeviceDescription::target);
  if (at != descriptions.end()) return *at;
  std::string known;
  for (const std::string& arch : known_architectures()) known += (known.empty() ? "" : ", ") + arch;
  fail<ValueError>("'{}' is not a known architecture; known are {}, and each with compute_ for sm_, for PTX",
                   target.arch, known);
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const DeviceDescription& d : descriptions)
    if (d.target.backend == Backend::cuda) names.push_back(d.target.arch);
  return names;
}

}  // namespace sinter::codegen
