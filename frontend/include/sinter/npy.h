// NumPy's .npy files.
#pragma once

#include <string>

#include "sinter/tensor.h"

namespace sinter {

/// Reads a .npy file of version 1, 2 or 3, in C or Fortran order, of either byte order. Throws ValueError,
/// with the path and what is wrong, for a file that cannot be read, is no .npy file, holds another number of
/// bytes than its header says, or has a dtype that sinter does not. NumPy has no bf16: such tensors are
/// stored as uint16, and `load(path, DType::bf16)` reads them back.
Tensor load(const std::string& path);
Tensor load(const std::string& path, DType dtype);
/// The same as load(path), under the name that says what it reads.
inline Tensor from_npy(const std::string& path) {
  return load(path);
}

/// Writes a tensor as a .npy file of version 1, row-major; bf16 as uint16. The file is complete or not there:
/// it is written beside `path` and renamed. Throws ValueError where that fails.
void save_npy(const Tensor& x, const std::string& path);

}  // namespace sinter
