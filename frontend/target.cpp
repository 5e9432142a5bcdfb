#include "frontend/target.h"

#include <algorithm>
#include <cctype>

#include "ir/base/check.h"

namespace sinter::frontend {

codegen::Target parse_target(const Target& target) {
  const std::string& name = target.name;
  if (name == "cpu") return codegen::Target::cpu();
  std::string_view digits(name);
  if (digits.starts_with("sm_")) {
    digits.remove_prefix(3);
    const bool is_capability =
        digits.size() >= 2 && digits.size() <= 4 && std::isdigit(digits[0]) &&
        std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isalnum(c); });
    if (is_capability) return codegen::Target::cuda(name);
  }
  fail<ValueError>(
      "there is no target \"{}\"; targets are \"cpu\" and NVIDIA architectures such as \"sm_90a\"", name);
}

}  // namespace sinter::frontend
