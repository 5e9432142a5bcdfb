// Kernels on a GPU that fold few long rows: a row each would leave most processors idle, so several blocks
// share a row, and the last of them to finish joins what they have folded. What needs a row's results at
// every element again would have to wait for that, and is not for this chooser.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary_rows.h"

namespace sinter::codegen {
std::optional<Schedule> choose_split_rows(const Kernel& k, const DeviceDescription& device,
                                          std::string& why) {
  constexpr int threads = 512;
  constexpr int most_blocks = 32;  // for each processor: so many that none waits long for the slowest
  const ir::Dim rows = k.rows(), length = k.row_length();
  if (k.fixed_fold_order) {
    why = "split rows: the order of folds is fixed";
    return std::nullopt;
  }
  const int inner = k.innermost(true);
  if (inner < 0 || !rows.is_constant() || !length.is_constant() || rows.is(0)) {
    why = "split rows: how many there are and how long is not known";
    return std::nullopt;
  }
  Schedule s;
  s.joined = joinable(k, true);
  if (const std::vector<Walk> walks = separate_walks(k, s.joined);
      walks.size() != 1 || walks[0].folds.empty()) {
    why = "split rows: a row's results are needed at each of its elements";
    return std::nullopt;
  }
  s.chooser = "split rows";
  const RowVectors vectors = row_vectors(k, inner, device.vector_bytes);
  s.vector = vectors.elements;
  s.skewed = vectors.skewed;
  constexpr int most_bytes = 256;  // of registers for what a thread loads at once
  const int chunks = std::clamp(16 / s.vector, 4, 16);
  const int fitting = std::max(1, most_bytes / (s.vector * register_bytes(k)));
  const std::int64_t step = std::int64_t{threads} * std::min(chunks, fitting) * s.vector;
  const std::int64_t steps = (length.value() + step - 1) / step;
  // Two steps make a piece, but rather one than that processors are idle.
  const std::int64_t idle = device.processors / rows.value();
  const std::int64_t wanted = std::min(std::int64_t{device.processors} * most_blocks / rows.value(),
                                       std::max(steps / 2, std::min(steps, idle)));
  if (wanted < 2) {
    why = "split rows: there are enough rows for all processors, or they are short";
    return std::nullopt;
  }
  const int pieces = pieces_for(vectors.span.value(), wanted, std::int64_t{warp_threads} * s.vector);
  s.block_threads = threads;
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  along = {{Level::grid, pieces}, {Level::loop}};
  take_in_vectors(along, std::min(chunks, fitting), threads, s.vector);
  return s;
}

namespace {

class Varied : public RowVariants {
 public:
  using RowVariants::RowVariants;

  std::vector<Schedule> run() {
    const std::int64_t pieces = sized(chosen_row_axis(), Level::grid)->size;
    for (const std::int64_t wanted : {pieces / 2, pieces / 4, 2 * pieces}) {
      Schedule s = chosen_;
      const int fitting = pieces_for(vectors_.span.value(), std::max<std::int64_t>(1, wanted),
                                     std::int64_t{warp_threads} * s.vector);
      sized(row_axis(s), Level::grid)->size = fitting;
      if (fitting > 1) add(std::move(s));
    }
    steps(team_ / 2, chunks_);
    steps(team_, chunks_ / 2);
    return std::move(variants_);
  }
};

}  // namespace

std::vector<Schedule> vary_split_rows(const Kernel& k, const DeviceDescription& device,
                                      const Schedule& chosen) {
  return RowVariants::can_vary(k) ? Varied(k, device, chosen).run() : std::vector<Schedule>{};
}

}  // namespace sinter::codegen
