// A program bound to concrete shapes on the CPU: a list of launches over buffers placed by their lifetimes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codegen/source.h"
#include "passes/partition.h"
#include "runtime/kernel_cache.h"
#include "runtime/program.h"

namespace sinter::runtime {

/// A group of the partition, with its kernel's source; products have none.
struct PlannedGroup {
  const passes::Group* group;
  const codegen::Kernel* kernel = nullptr;
  const codegen::KernelSource* source = nullptr;
};

class Executable {
 public:
  /// All lengths are numbers. `views` are passes::memory_views of the graph.
  Executable(const ir::Graph& graph, std::span<const PlannedGroup> groups,
             const std::vector<std::optional<ir::View>>& views);

  /// Runs with compiled kernels, one per group that has a kernel, in order.
  std::vector<TensorView> run(std::span<const TensorView> inputs,
                              std::span<const std::shared_ptr<const LoadedKernel>> kernels) const;

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
    int kernel = -1;  // into the kernels; -1 for a product
    std::vector<std::byte> params;
    struct Pointer {
      int offset;
      Place place;
    };
    std::vector<Pointer> pointers;
    std::int64_t units = 0, grain = 1;
    std::size_t scratch_bytes = 0;
    bool shared_scratch = false;
    int phases = 1, phase_offset = -1;  // -1: the kernel does not ask for the phase
    DType dtype = DType::f32;
    std::vector<std::int64_t> batch;  // lengths of the batch axes
    std::int64_t m = 0, n = 0, k = 0;
    std::vector<Operand> operands;  // left, right, result
  };
  struct Result {
    Place place;
    std::int64_t offset = 0;  // elements
    DType dtype;
    std::vector<std::int64_t> shape, strides;
  };

  void place_values(const ir::Graph& graph, std::span<const PlannedGroup> groups,
                    const std::vector<std::optional<ir::View>>& views);
  Step kernel_step(const PlannedGroup& planned, int kernel) const;
  static void launch(const Step& step, HostKernel::Entry entry, std::vector<std::byte>& params);
  template <class Address>
  static void run_matmul(const Step& step, const Address& address);
  Step matmul_step(const ir::Graph& graph, ir::Value node,
                   const std::vector<std::optional<ir::View>>& views) const;

  std::vector<Place> places_;  // per node
  std::vector<Step> steps_;
  std::vector<Result> results_;
  std::vector<std::int64_t> output_bytes_;
  std::int64_t arena_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace sinter::runtime
