// A program bound to concrete shapes: a list of launches over buffers placed by their lifetimes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "codegen/source.h"
#include "passes/partition.h"
#include "runtime/buffer.h"
#include "runtime/program.h"
#include "runtime/steps.h"
#include "runtime/tensor_layout.h"

namespace sinter::runtime {

struct PlannedKernel {
  const codegen::Kernel* kernel;
  const codegen::KernelSource* source;
};

/// What runs in a launch: a kernel of a group of the partition, or the group's product.
struct LaunchPart {
  int group;
  int kernel;  // its number among all kernels; -1 for a product
};
using Launch = std::vector<LaunchPart>;  // several are kernels of one text

class Executable {
 public:
  using Inputs = std::span<const Location* const>;
  using Kernels = std::span<const std::shared_ptr<const LoadedKernel>>;

  /// All lengths are numbers. `launches` come in the order in which they run. `views` are
  /// passes::memory_views of the graph. Needs no device. Throws UnsupportedError for a kernel of more blocks
  /// than a launch can have.
  Executable(const ir::Graph& graph, std::span<const passes::Group> groups,
             std::span<const PlannedKernel> kernels, std::span<const Launch> launches,
             const std::vector<std::optional<ir::View>>& views);

  /// Throws DeviceError for kernels, by their numbers, that the device cannot launch.
  void check(Device& device, Kernels kernels) const;
  /// The same for one of them.
  void check_kernel(Device& device, int number, const LoadedKernel& kernel) const;

  /// Runs with them, on inputs that are on the device, and gives the outputs, which lie as layouts() says. A
  /// step is launched before the memory of later ones is asked for.
  std::vector<Location> run(Device& device, Inputs inputs, Kernels kernels) const;

  /// Runs, and leaves it to `visit` to launch each step: it gets the number of the step's kernel, or -1 for a
  /// product, and a function that launches the same step of an executable of the same groups, which may have
  /// other sources, with its kernels. Results are dropped.
  using LaunchStep = std::function<void(const Executable& of, Kernels kernels)>;
  void visit(Device& device, Inputs inputs,
             const std::function<void(int kernel, const LaunchStep& launch)>& visit) const;

  /// One per output.
  const std::vector<std::shared_ptr<const TensorLayout>>& layouts() const { return layouts_; }
  int launches() const { return static_cast<int>(steps_.size()); }
  /// Bytes of outputs and intermediate values that are in memory at once.
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  /// Where a stored value is: an input, an output buffer of its own, or a place in the arena.
  struct Place {
    enum class Kind : std::uint8_t { none, input, output, arena } kind = Kind::none;
    std::int64_t index = 0;  // of the input or output buffer; offset in the arena
  };
  struct Operand {  // of a product
    Place place;
    std::int64_t offset = 0;          // bytes
    std::vector<std::int64_t> batch;  // stride of each batch axis
    std::int64_t row = 0, column = 0;
  };
  struct Step {
    int kernel = -1;          // into the kernels; -1 for a product
    std::size_t outputs = 0;  // how many output buffers it and the steps before it use
    KernelLaunch launch;
    std::vector<std::byte> params;
    struct Pointer {
      int offset;
      Place place;
    };
    std::vector<Pointer> pointers;
    DType dtype = DType::f32;
    std::vector<std::int64_t> batch;  // lengths of the batch axes
    std::int64_t m = 0, n = 0, k = 0;
    std::vector<Operand> operands;  // left, right, result, and the bias if there is one
  };
  struct Result {
    Place place;
    std::int64_t offset = 0;  // bytes
    bool last = true;         // of those in its buffer
  };
  class Memory;  // of one run

  std::vector<std::size_t> place_values(const ir::Graph& graph, std::span<const passes::Group> groups,
                                        std::span<const PlannedKernel> kernels,
                                        std::span<const Launch> launches,
                                        const std::vector<std::optional<ir::View>>& views);
  std::vector<std::size_t> place_outputs(const ir::Graph& graph, std::span<const passes::Group> groups,
                                         std::span<const Launch> launches,
                                         const std::vector<std::optional<ir::View>>& views);
  void add_results(const ir::Graph& graph, const std::vector<std::optional<ir::View>>& views);
  Step kernel_step(std::span<const PlannedKernel> kernels, const LaunchPart& part) const;
  Step joined_step(std::span<const PlannedKernel> kernels, const Launch& launch) const;
  void add_pointers(Step& step, const PlannedKernel& planned, int group, int offset) const;
  static void join_batch_axes(Step& step);
  static void run_matmul(Device& device, const Step& step, const Memory& memory);
  void launch(Device& device, const Step& step, const Memory& memory, Kernels kernels) const;
  Step matmul_step(const ir::Graph& graph, const passes::Group& group,
                   const std::vector<std::optional<ir::View>>& views) const;

  std::vector<Place> places_;                 // per node
  std::vector<std::vector<Place>> partials_;  // per group, of what its kernels leave each other
  std::vector<Step> steps_;
  std::vector<Result> results_;
  std::vector<std::shared_ptr<const TensorLayout>> layouts_;  // of the results
  std::vector<std::int64_t> output_bytes_;                    // in the order in which steps write them
  std::int64_t arena_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace sinter::runtime
