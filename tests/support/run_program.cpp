#include "tests/support/run_program.h"

#include <cstring>

namespace sinter::testing {

runtime::TensorView view_of(const ir::Array& array) {
  runtime::TensorView view;
  view.buffer = runtime::Buffer::allocate(static_cast<std::int64_t>(array.data.size()));
  view.data = view.buffer->data();
  view.dtype = array.dtype;
  view.shape = array.shape;
  view.strides.resize(array.shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = array.shape.size(); axis-- > 0;) {
    view.strides[axis] = stride;
    stride *= array.shape[axis];
  }
  if (!array.data.empty()) std::memcpy(view.data, array.data.data(), array.data.size());
  return view;
}

ir::Array array_of(const runtime::TensorView& view) {
  ir::Array array(view.dtype, view.shape);
  const auto bytes = static_cast<std::size_t>(size_of(view.dtype));
  std::vector<std::int64_t> index(view.shape.size(), 0);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    std::memcpy(array.data.data() + static_cast<std::size_t>(i) * bytes,
                view.data + offset * static_cast<std::int64_t>(bytes), bytes);
    for (std::size_t axis = index.size(); axis-- > 0 && ++index[axis] == view.shape[axis];) index[axis] = 0;
  }
  return array;
}

ProgramRunner& program_runner() {
  static ProgramRunner runner{codegen::Target::cpu(), [](const runtime::Program& program,
                                                         std::span<const runtime::TensorView> inputs) {
                                return program.run(inputs);
                              }};
  return runner;
}

std::vector<runtime::TensorView> run_program_on_views(ir::Graph graph,
                                                      std::span<const runtime::TensorView> inputs,
                                                      runtime::ProgramOptions options) {
  options.target = program_runner().target;
  const auto program = runtime::Program::build(std::move(graph), std::move(options));
  return program_runner().run(*program, inputs);
}

std::vector<ir::Array> run_program(ir::Graph graph, std::span<const ir::Array> inputs,
                                   runtime::ProgramOptions options) {
  std::vector<runtime::TensorView> views;
  for (const ir::Array& input : inputs) views.push_back(view_of(input));
  std::vector<ir::Array> outputs;
  for (const runtime::TensorView& output : run_program_on_views(std::move(graph), views, std::move(options)))
    outputs.push_back(array_of(output));
  return outputs;
}

}  // namespace sinter::testing
