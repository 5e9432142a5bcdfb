#include "samples/tool/bench_by_hand.h"

#include "samples/bench/machine.h"
#include "samples/bench/team.h"

namespace tool {

using sinter::Tensor;

// Its arrays are plain memory, as those of a program without sinter.
bench::Timing time_by_hand(const Subject& subject, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs, double seconds, bench::Stopwatch& stopwatch) {
  bench::Team team(bench::thread_count());
  std::vector<const float*> from;
  for (const Tensor& x : inputs) from.push_back(x.data<float>());
  std::vector<std::vector<float>> memory_of_outputs;
  std::vector<float*> to;
  for (const Tensor& y : outputs) {
    memory_of_outputs.emplace_back(static_cast<std::size_t>(y.size()));
    to.push_back(memory_of_outputs.back().data());
  }
  const auto count = static_cast<std::size_t>(outputs[0].size());
  const bench::Timing timing = stopwatch.measure(
      seconds, [] {},
      [&] {
        team.run(count, [&](std::size_t begin, std::size_t end) { subject.by_hand(from, to, begin, end); });
      });
  const Tensor by_hand =
      sinter::from_vector<float>(memory_of_outputs[0], outputs[0].shape(), outputs[0].device());
  if (!sinter::allclose(by_hand, outputs[0], 1e-5, 1e-6))
    throw sinter::InternalError(subject.name + ": written by hand it gives other values");
  return timing;
}

}  // namespace tool
