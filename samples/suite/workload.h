// The workloads of the suite: one table, in which each is its inputs and a formula over them in the public
// API. Its parts are in the files that parts.h names.
#pragma once

#include <sinter/sinter.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samples/suite/draw.h"
#include "samples/suite/parameters.h"

namespace suite {

struct Input {
  std::string name;
  sinter::DType dtype;
  std::vector<sinter::Length> shape;
  Draw draw = Draw::normal;
};

using Tensors = std::vector<sinter::Tensor>;

/// The same computation on a range of elements of contiguous f32 inputs, written and vectorised by hand.
using ByHand = void (*)(std::span<const float* const> inputs, std::span<float* const> outputs,
                        std::size_t begin, std::size_t end);

struct Workload {
  std::string name;
  std::string doc;
  std::vector<Parameter> parameters;
  std::function<std::vector<Input>(const Parameters&)> inputs;
  std::function<Tensors(const Tensors&, const Parameters&)> formula;
  ByHand by_hand = nullptr;
  /// Bytes that must move, where those are not every input and every output once.
  double (*bytes)(const Tensors& inputs, const Tensors& outputs) = nullptr;
};

const std::vector<Workload>& workloads();
/// The workload of that name, or null.
const Workload* find_workload(std::string_view name);

}  // namespace suite
