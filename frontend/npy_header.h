// The header of NumPy's .npy format: a Python dictionary with the keys descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/dtype.h"

namespace sinter::frontend {

struct NpyHeader {
  std::string descr;           // as written: "<f4"
  std::optional<DType> dtype;  // nothing for those that sinter does not have
  bool is_uint16 = false;      // which may be bf16
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t end = 0;  // where the elements begin
};

/// Reads the header at the beginning of a file; throws ValueError with the path and what is wrong.
NpyHeader parse_npy_header(const std::string& path, std::string_view bytes);

/// The header of version 1, padded so that the elements begin at a multiple of 64 bytes.
std::string npy_header(DType dtype, const std::vector<std::int64_t>& shape);

}  // namespace sinter::frontend
