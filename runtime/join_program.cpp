// Where a program's groups meet the joining of launches: what each asks for, and the text for those that
// share one.
#include <algorithm>

#include "codegen/batch.h"
#include "codegen/emit_body.h"
#include "runtime/batch_launches.h"
#include "runtime/program_impl.h"

namespace sinter::runtime {
namespace {

using ir::Value;

/// A kernel that moves more than this takes much longer than its launch.
constexpr std::int64_t most_bytes = 64 << 20;

/// Per value, the group that writes it, or -1.
std::vector<int> writers(const Program::Impl& p) {
  std::vector<int> result(p.optimized.size(), -1);
  for (std::size_t i = 0; i < p.partition.groups.size(); ++i)
    for (Value v : p.partition.groups[i].outputs) result[v.id] = static_cast<int>(i);
  return result;
}

/// Per value, whether it is, or is seen through, an output of the program, which lies in memory of its own.
std::vector<bool> returned(const Program::Impl& p) {
  std::vector<bool> result(p.optimized.size(), false);
  for (const ir::Output& out : p.optimized.outputs()) result[p.views[out.value.id]->base.id] = true;
  return result;
}

void ask_to_share(LaunchCandidate& candidate, const codegen::Kernel& kernel,
                  const codegen::KernelSource& source) {
  if (!codegen::can_share_launch(kernel, source)) return;
  if ((kernel.bytes(false) + kernel.bytes(true)).value() > most_bytes) return;
  candidate.text = source.text;
  candidate.most = codegen::most_instances(source.param_bytes);
  candidate.shared_bytes = source.shared_bytes;
  candidate.blocks = source.units.value();
}

std::vector<LaunchCandidate> candidates_of(const Program::Impl& p) {
  const std::vector<int> writer = writers(p);
  const std::vector<bool> is_returned = returned(p);
  std::vector<LaunchCandidate> candidates(p.partition.groups.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const passes::Group& group = p.partition.groups[i];
    for (Value v : group.inputs)
      if (const int before = writer[p.views[v.id] ? p.views[v.id]->base.id : v.id]; before >= 0)
        candidates[i].after.push_back(before);
    for (Value v : group.outputs)
      if (!is_returned[v.id])
        candidates[i].kept_bytes += p.optimized.shape(v).elements().value() * size_of(p.optimized.dtype(v));
    if (p.kernels_of[i].size() != 1) continue;
    const auto kernel = static_cast<std::size_t>(p.kernels_of[i][0]);
    ask_to_share(candidates[i], p.kernels[kernel], p.sources[kernel]);
  }
  return candidates;
}

}  // namespace

void Program::Impl::join() {
  if (options.target.backend == codegen::Backend::cpu || !optimized.symbols().empty()) {
    for (std::size_t i = 0; i < partition.groups.size(); ++i) launches.push_back({static_cast<int>(i)});
    return;
  }
  launches = join_launches(candidates_of(*this));
  for (const std::vector<int>& launch : launches) {
    if (launch.size() == 1) continue;
    const auto kernel_of = [&](int group) {
      return static_cast<std::size_t>(kernels_of[static_cast<std::size_t>(group)][0]);
    };
    const std::size_t first = kernel_of(launch[0]);
    codegen::Schedule schedule = sources[first].schedule;
    schedule.batch = codegen::batch_for(static_cast<int>(launch.size()), sources[first].param_bytes);
    const std::string text = codegen::emit(kernels[first], schedule, options.target).text;
    for (int group : launch) {
      codegen::KernelSource& source = sources[kernel_of(group)];
      source.text = text;
      source.schedule.batch = schedule.batch;
      source.header = codegen::header_comment(kernels[kernel_of(group)], source.schedule);
    }
  }
}

const std::vector<int>& Program::Impl::launch_of(std::size_t group) const {
  return *std::ranges::find_if(launches, [&](const std::vector<int>& launch) {
    return std::ranges::binary_search(launch, static_cast<int>(group));
  });
}

}  // namespace sinter::runtime
