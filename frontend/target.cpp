#include "frontend/target.h"

#include <algorithm>
#include <cctype>

#include "ir/base/check.h"

namespace sinter::frontend {

codegen::Target parse_target(const Target& target) {
  const std::string& name = target.name;
  if (name == "cpu") return codegen::Target::cpu();
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    const bool is_capability =
        digits.size() >= 2 && digits.size() <= 4 && std::isdigit(digits[0]) &&
        std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isalnum(c); });
    if (is_capability) return codegen::Target::cuda(name);
  }
  fail<ValueError>(
      "there is no target \"{}\"; targets are \"cpu\" and NVIDIA architectures such as \"sm_90a\"", name);
}

}  // namespace sinter::frontend
