#include "ir/liveness.h"

#include <algorithm>

namespace sinter::ir {

std::vector<std::uint32_t> last_readers(const Graph& graph) {
  const auto size = static_cast<std::uint32_t>(graph.size());
  std::vector<std::uint32_t> last(size, never_read);
  for (const Output& output : graph.outputs()) last[output.value.id] = size;
  // Backwards, so that a node is known to be needed before its operands are looked at; the first reader met
  // is the last one to run.
  for (std::uint32_t id = size; id-- > 0;) {
    if (last[id] == never_read) continue;
    for (Value operand : graph.operands(Value{id}))
      if (last[operand.id] == never_read) last[operand.id] = id;
  }
  return last;
}

}  // namespace sinter::ir
