#include "samples/tool/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

using sinter::Tensor;
using sinter::ValueError;

namespace {

const sinter::GraphInput& find_input(const What& what, const std::vector<sinter::GraphInput>& inputs,
                                     const std::string& name) {
  std::vector<std::string> names;
  for (const sinter::GraphInput& input : inputs) {
    if (input.name == name) return input;
    names.push_back(input.name);
  }
  throw ValueError(
      fmt::format("--input {}: {} has no such input; it has {}", name, what.name(), fmt::join(names, ", ")));
}

}  // namespace

Given load_inputs(const What& what, const std::vector<std::string>& texts) {
  const std::vector<sinter::GraphInput> inputs = what.inputs();
  Given given;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0)
      throw ValueError(fmt::format("--input {}: must be NAME=FILE.npy", text));
    const sinter::GraphInput& input = find_input(what, inputs, text.substr(0, sign));
    const std::string file = text.substr(sign + 1);
    const bool is_bf16 = input.spec.dtype == sinter::bf16;
    given.insert_or_assign(input.name, is_bf16 ? sinter::load(file, sinter::bf16) : sinter::load(file));
  }
  return given;
}

std::vector<Tensor> complete_inputs(const Subject& subject, const Given& given, std::uint64_t seed,
                                    const sinter::Device& device) {
  std::vector<Tensor> tensors;
  for (const sinter::GraphInput& input : subject.function.inputs()) {
    const std::size_t i = tensors.size();
    const auto found = given.find(input.name);
    tensors.push_back(found == given.end() ? suite::draw(input, subject.draws[i], seed, i, device)
                                           : found->second.to(device));
  }
  return tensors;
}

sinter::Device device_of(const std::string& name) {
  return name.empty() ? sinter::Device() : sinter::Device(name);
}

}  // namespace tool
