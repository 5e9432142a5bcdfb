#include "tests/cuda_on_cpu/planted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codegen/prelude.h"
#include "tests/catch.h"

namespace sinter::testing::cuda_on_cpu {
namespace {

constexpr std::int64_t counter_bytes = 64;

std::string kernel_text(const std::string& body, const std::string& index) {
  const std::string text = fmt::format(
      "namespace sinter {{\n\ntypedef {} index;\n\nstruct Params {{\n  const f32* in0;\n  f32* out0;\n  f32* "
      "part;\n  uint32* counters;\n  index n;\n}};\n\n"
      "extern \"C\" __global__ void __launch_bounds__(1024) planted(const Params p) {{\n"
      "  const f32* __restrict in0 = p.in0;\n  f32* __restrict out0 = p.out0;\n  const index n = p.n;\n"
      "  f32* part = p.part;\n  uint32* counters = p.counters;\n"
      "  const int t = (int)threadIdx.x;\n  {}\n}}\n\n}}  // namespace sinter\n",
      index, body);
  return codegen::prelude(text, codegen::Backend::cuda) + "\n" + text;
}

}  // namespace

Planted::Planted(const std::string& body, const Shape& shape)
    : kernel_(Kernel::compile("planted", kernel_text(body, shape.index))),
      in_(shape.n * 4, 64),
      out_(shape.n * 4, 64),
      part_(shape.n * 4, 64),
      counters_(counter_bytes, 64) {
  const auto put = [&](auto value) {
    const auto at = params_.size();
    params_.resize(at + sizeof value);
    std::memcpy(params_.data() + at, &value, sizeof value);
  };
  for (const LonelyMemory* memory : {&in_, &out_, &part_, &counters_}) put(memory->data());
  put(shape.n);
  using Kind = Region::Kind;
  launch_ = {
      kernel_.get(),
      params_,
      shape.blocks,
      shape.threads,
      {{"in0", Kind::input, in_.data(), shape.n * 4, 4}, {"out0", Kind::output, out_.data(), shape.n * 4, 4}},
      shape.cluster,
      shape.shared_bytes,
      shape.together};
  // A launch with counters runs whole, or not at all.
  if (body.find("part") != body.npos)
    launch_.buffers.push_back({"part", Kind::scratch, part_.data(), shape.n * 4, 4});
  if (body.find("counters") != body.npos)
    launch_.buffers.push_back({"counters", Kind::counters, counters_.data(), counter_bytes, 4});
  for (std::int64_t i = 0; i < std::min<std::int64_t>(shape.n, 1 << 16); ++i) in()[i] = static_cast<float>(i);
}

Found found_in(const std::string& body, const Shape& shape) {
  const Planted planted(body, shape);
  try {
    run_launch(planted.launch());
  } catch (const KernelFault& fault) {
    return {fault.fault, fault.what()};
  }
  return {std::nullopt, ""};
}

void check_fault(const Found& found, Fault fault, const std::string& text) {
  using Catch::Matchers::ContainsSubstring;
  INFO(found.message);
  CHECK(found.fault == fault);
  CHECK_THAT(found.message, ContainsSubstring(text) && ContainsSubstring("planted"));
}

}  // namespace sinter::testing::cuda_on_cpu
