#include "codegen/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sinter::codegen {

bool can_share_launch(const Kernel& k, const KernelSource& source) {
  const bool alone = source.cluster > 1 || source.phases > 1 || !source.scratch.empty();
  const auto is_partial = [](const KernelBuffer& b) { return b.partial >= 0; };
  return source.target.backend == Backend::cuda && !alone && source.units.value() > 0 &&
         std::ranges::none_of(k.buffers, is_partial);
}

int most_instances(int param_bytes) {
  constexpr int most_bytes = 4096;
  int most = 1;
  while (batch_bytes(most + 1, param_bytes) <= most_bytes) ++most;
  return most;
}

int batch_for(int instances, int param_bytes) {
  const int power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(instances)));
  return std::min(power, most_instances(param_bytes));
}

int first_blocks_offset(int batch, int param_bytes) {
  return batch * param_bytes;
}

int batch_bytes(int batch, int param_bytes) {
  constexpr int alignment = 8, number = 4;
  const int bytes = first_blocks_offset(batch, param_bytes) + number * (batch + 1);
  return (bytes + alignment - 1) / alignment * alignment;
}

std::string batch_struct(int batch) {
  return fmt::format("struct Params {{\n  Instance at[{}];\n  uint32 first_block[{}];\n}};\n", batch,
                     batch + 1);
}

/// By bisection, the same for all threads of a block. The places behind the last instance say where the last
/// one ends, so that no block finds them.
std::string batch_locals(const Schedule& schedule) {
  const int batch = schedule.batch;
  if (schedule.in_turn)
    return R"(  const uint32 instances = gridDim.x / batch.first_block[1];
  const Instance& p = batch.at[blockIdx.x % instances];
  const uint32 block = blockIdx.x / instances;
)";
  return fmt::format(R"(  int instance = 0;
#pragma unroll
  for (int step = {}; step > 0; step /= 2)
    if (instance + step < {} && blockIdx.x >= batch.first_block[instance + step]) instance += step;
  const Instance& p = batch.at[instance];
  const uint32 block = blockIdx.x - batch.first_block[instance];
)",
                     std::bit_ceil(static_cast<unsigned>(batch)) / 2, batch);
}

std::string_view block_number(const Schedule& s) {
  return s.batch > 1 ? "(index)block" : "(index)blockIdx.x";
}

}  // namespace sinter::codegen
