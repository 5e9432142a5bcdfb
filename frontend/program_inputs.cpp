#include "frontend/program_inputs.h"

#include "frontend/device_of.h"

namespace sinter::frontend {

void ProgramInputs::add(const Tensor& x) {
  if (storage_of(x, "its memory").is_number)
    keep(x);
  else
    tensors_.push_back(&x);
}

void ProgramInputs::keep(const Tensor& x) {
  tensors_.push_back(&kept_.emplace_back(on_device(x, device_)));
}

std::vector<Tensor> ProgramInputs::run(const runtime::Program& program) const {
  std::vector<const runtime::Location*> locations;
  locations.reserve(tensors_.size());
  for (const Tensor* x : tensors_) locations.push_back(&storage_of(*x, "its memory"));
  std::vector<runtime::Location> outputs = program.launch(locations);
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (runtime::Location& output : outputs)
    results.push_back(make_tensor(program.output_layouts()[results.size()], {std::move(output)}));
  return results;
}

}  // namespace sinter::frontend
