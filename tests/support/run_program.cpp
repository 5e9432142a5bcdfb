#include "tests/support/run_program.h"

#include <cstring>

namespace sinter::testing {

runtime::TensorView view_of(const ir::Array& array) {
  runtime::TensorView view;
  view.buffer =
      runtime::Buffer::allocate(static_cast<std::int64_t>(array.data.size()), *program_runner().device);
  view.data = view.buffer->data();
  view.dtype = array.dtype;
  view.shape = array.shape;
  view.strides.resize(array.shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = array.shape.size(); axis-- > 0;) {
    view.strides[axis] = stride;
    stride *= array.shape[axis];
  }
  view.buffer->device().copy_from_host(view.data, array.data.data(), view.buffer->bytes());
  return view;
}

ir::Array array_of(const runtime::TensorView& view) {
  ir::Array array(view.dtype, view.shape);
  if (array.data.empty()) return array;
  const auto bytes = static_cast<std::size_t>(size_of(view.dtype));
  std::vector<std::byte> copy;
  const std::byte* data = view.data;
  if (!view.buffer->device().is_cpu()) {
    copy.resize(static_cast<std::size_t>(view.buffer->bytes()));
    view.buffer->device().copy_to_host(copy.data(), view.buffer->data(), view.buffer->bytes());
    data = copy.data() + (view.data - view.buffer->data());
  }
  std::vector<std::int64_t> index(view.shape.size(), 0);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    std::memcpy(array.data.data() + static_cast<std::size_t>(i) * bytes,
                data + offset * static_cast<std::int64_t>(bytes), bytes);
    for (std::size_t axis = index.size(); axis-- > 0 && ++index[axis] == view.shape[axis];) index[axis] = 0;
  }
  return array;
}

namespace {

ProgramRunner runner_on_default_device() {
  runtime::Device& device = runtime::default_device();
  const auto run = [](const runtime::Program& program, std::span<const runtime::TensorView> inputs) {
    return program.run(inputs);
  };
  return {device.target(), run, &device};
}

}  // namespace

constinit MakeProgramRunner make_program_runner = runner_on_default_device;

ProgramRunner& program_runner() {
  static ProgramRunner runner = make_program_runner();
  return runner;
}

runtime::ProgramOptions program_options(Numerics numerics) {
  runtime::ProgramOptions options;
  options.numerics = numerics;
  options.target = program_runner().target;
  options.ordinal = program_runner().device->id().ordinal;
  return options;
}

std::vector<runtime::TensorView> run_program_on_views(ir::Graph graph,
                                                      std::span<const runtime::TensorView> inputs,
                                                      runtime::ProgramOptions options) {
  options.target = program_runner().target;
  options.ordinal = program_runner().device->id().ordinal;
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
