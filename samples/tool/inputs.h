// Inputs of a function: from files, or drawn from a seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "samples/tool/subject.h"

namespace tool {

/// Tensors by the names of the inputs that they are for.
using Given = std::map<std::string, sinter::Tensor>;

/// What `--input NAME=FILE.npy` gives; a bf16 input is read from uint16. Throws sinter::ValueError for texts
/// of another form and for names that are no input's.
Given load_inputs(const What& what, const std::vector<std::string>& texts);

/// All inputs on the device: those given, and the others drawn.
std::vector<sinter::Tensor> complete_inputs(const Subject& subject, const Given& given, std::uint64_t seed,
                                            const sinter::Device& device);

/// The device of that name; the default one for an empty name.
sinter::Device device_of(const std::string& name);

}  // namespace tool
