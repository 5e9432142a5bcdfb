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

/// A kernel that moves more than this takes much longer than its launch, if it is not one of many that write
/// an output in parts.
constexpr std::int64_t most_bytes = 64 << 20;

bool is_part(const codegen::Kernel& k) {
  return std::ranges::any_of(k.stores, &codegen::KernelStore::in_part);
}

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
  if (!is_part(kernel) && (kernel.bytes(false) + kernel.bytes(true)).value() > most_bytes) return;
  candidate.text = source.text;
  candidate.most = codegen::most_instances(source.param_bytes);
  candidate.shared_bytes = source.shared_bytes;
  candidate.blocks = source.units.value();
}

/// What runs, in an order in which it can.
Launch parts_of(const Program::Impl& p) {
  Launch parts;
  for (std::size_t i = 0; i < p.partition.groups.size(); ++i) {
    const int group = static_cast<int>(i);
    if (p.kernels_of[i].empty()) parts.push_back({group, -1});
    for (int kernel : p.kernels_of[i]) parts.push_back({group, kernel});
  }
  return parts;
}

/// Values that it reads, as they lie in memory, and whether it reads what another kernel of its group leaves.
struct Reads {
  std::vector<Value> values;
  bool partials = false;
};

Reads reads_of(const Program::Impl& p, const LaunchPart& part) {
  Reads reads;
  if (part.kernel < 0)
    for (Value v : p.partition.groups[static_cast<std::size_t>(part.group)].inputs)
      reads.values.push_back(p.views[v.id] ? p.views[v.id]->base : v);
  else
    for (const codegen::KernelBuffer& b : p.kernels[static_cast<std::size_t>(part.kernel)].buffers) {
      if (b.written) continue;
      if (b.partial < 0)
        reads.values.push_back(b.value);
      else
        reads.partials = true;
    }
  return reads;
}

/// Bytes of what a group leaves in memory for others.
std::int64_t kept_bytes(const Program::Impl& p, const passes::Group& group,
                        const std::vector<bool>& is_returned) {
  std::int64_t bytes = 0;
  for (Value v : group.outputs)
    if (!is_returned[v.id]) bytes += p.optimized.shape(v).elements().value() * size_of(p.optimized.dtype(v));
  return bytes;
}

std::vector<LaunchCandidate> candidates_of(const Program::Impl& p, const Launch& parts) {
  const std::vector<int> writer = writers(p);
  const std::vector<bool> is_returned = returned(p);
  std::vector<LaunchCandidate> candidates(parts.size());
  std::vector<std::vector<int>> of_group(p.partition.groups.size());  // parts so far
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = static_cast<std::size_t>(parts[i].group);
    const Reads reads = reads_of(p, parts[i]);
    LaunchCandidate& candidate = candidates[i];
    const auto wait_for = [&](std::size_t group) {
      candidate.after.insert(candidate.after.end(), of_group[group].begin(), of_group[group].end());
    };
    for (Value v : reads.values)
      if (writer[v.id] >= 0) wait_for(static_cast<std::size_t>(writer[v.id]));
    if (reads.partials) wait_for(number);
    // Several kernels of a group write what the first one finds memory for.
    if (of_group[number].empty())
      candidate.kept_bytes = kept_bytes(p, p.partition.groups[number], is_returned);
    if (parts[i].kernel >= 0) {
      const auto kernel = static_cast<std::size_t>(parts[i].kernel);
      ask_to_share(candidate, p.kernels[kernel], p.sources[kernel]);
    }
    of_group[number].push_back(static_cast<int>(i));
  }
  return candidates;
}

/// Whether parts of rows of one output are written, by as many blocks each: what several of them write of a
/// line of memory should come at about the same time.
bool takes_turns(const Program::Impl& p, const Launch& launch) {
  const auto number = [](const LaunchPart& part) { return static_cast<std::size_t>(part.kernel); };
  const codegen::Kernel& first = p.kernels[number(launch[0])];
  const bool dense = first.axes.size() == 1 && first.stores[0].address.factor(0).is(1);
  return is_part(first) && !dense && std::ranges::all_of(launch, [&](const LaunchPart& part) {
           return part.group == launch[0].group &&
                  p.sources[number(part)].units == p.sources[number(launch[0])].units;
         });
}

}  // namespace

void Program::Impl::join() {
  const Launch parts = parts_of(*this);
  if (options.target.backend == codegen::Backend::cpu || !optimized.symbols().empty()) {
    for (const LaunchPart& part : parts) launches.push_back({part});
    return;
  }
  for (const std::vector<int>& joined : join_launches(candidates_of(*this, parts))) {
    Launch& launch = launches.emplace_back();
    for (int part : joined) launch.push_back(parts[static_cast<std::size_t>(part)]);
    if (launch.size() == 1) continue;
    const auto first = static_cast<std::size_t>(launch[0].kernel);
    codegen::Schedule schedule = sources[first].schedule;
    schedule.batch = codegen::batch_for(static_cast<int>(launch.size()), sources[first].param_bytes);
    schedule.in_turn = takes_turns(*this, launch);
    const std::string text = codegen::emit(kernels[first], schedule, options.target).text;
    for (const LaunchPart& part : launch) {
      const auto kernel = static_cast<std::size_t>(part.kernel);
      codegen::KernelSource& source = sources[kernel];
      source.text = text;
      source.schedule.batch = schedule.batch;
      source.schedule.in_turn = schedule.in_turn;
      source.header = codegen::header_comment(kernels[kernel], source.schedule);
    }
  }
}

const Launch& Program::Impl::launch_of(int kernel) const {
  return *std::ranges::find_if(launches, [&](const Launch& launch) {
    return std::ranges::find(launch, kernel, &LaunchPart::kernel) != launch.end();
  });
}

}  // namespace sinter::runtime
