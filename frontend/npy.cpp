#include "sinter/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "frontend/elements.h"
#include "frontend/npy_header.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"
#include "runtime/file.h"
#include "sinter/create.h"
#include "sinter/file.h"

namespace sinter {
namespace {

using frontend::NpyHeader;

std::string read_whole(const std::string& path) {
  std::string bytes;
  if (!runtime::read_file(path, bytes)) {
    if (errno == EISDIR) fail<ValueError>("{} is a directory, not a file with a tensor", path);
    fail<ValueError>("{} cannot be read: {}", path, std::strerror(errno));
  }
  return bytes;
}

void swap_bytes(std::byte* elements, std::int64_t count, std::int64_t size) {
  for (std::int64_t i = 0; i < count; ++i, elements += size) std::reverse(elements, elements + size);
}

/// numpy.save keeps any byte in a bool; ours are 0 or 1.
void make_bools(std::byte* elements, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) elements[i] = std::byte(elements[i] != std::byte(0));
}

Tensor read_elements(const std::string& path, const std::string& bytes, const NpyHeader& header,
                     DType dtype) {
  std::int64_t count = 0;
  try {
    count = frontend::checked_elements(path, header.shape, dtype);
  } catch (const ShapeError& error) {
    fail<ValueError>("{}", error.what());
  }
  const std::size_t size = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(dtype));
  if (bytes.size() - header.end != size)
    fail<ValueError>("{}: {} elements of {} take {} bytes, but {} follow the header; the file is damaged",
                     path, count, header.descr, size, bytes.size() - header.end);
  std::vector<std::int64_t> shape = header.shape;
  if (header.fortran_order) std::ranges::reverse(shape);
  const Tensor host = frontend::allocate(dtype, shape, runtime::cpu_device());
  std::byte* elements = frontend::storage_of(host, "its memory").data;
  std::memcpy(elements, bytes.data() + header.end, size);
  if (header.big_endian) swap_bytes(elements, count, size_of(dtype));
  if (is_bool(dtype)) make_bools(elements, count);
  const Tensor x = host.to(Device());
  if (!header.fortran_order) return x;
  runtime::TensorView view = frontend::view_of(x);  // column-major order is row-major with the axes reversed
  std::ranges::reverse(view.shape);
  std::ranges::reverse(view.strides);
  return frontend::from_view(std::move(view));
}

}  // namespace

Tensor load(const std::string& path) {
  const std::string bytes = read_whole(path);
  const NpyHeader header = frontend::parse_npy_header(path, bytes);
  if (!header.dtype)
    fail<ValueError>(
        "{}: the dtype '{}' has no counterpart; sinter has float64, float32, float16, int8, uint8, "
        "int32, int64 and bool, and reads uint16 as bf16 by load(path, DType::bf16)",
        path, header.descr);
  return read_elements(path, bytes, header, *header.dtype);
}

Tensor load(const std::string& path, DType dtype) {
  const std::string bytes = read_whole(path);
  const NpyHeader header = frontend::parse_npy_header(path, bytes);
  const bool fits = dtype == DType::bf16 ? header.is_uint16 : header.dtype == dtype;
  if (!fits)
    fail<ValueError>(
        "{}: holds elements of dtype '{}', which are not {}{}; load it without a dtype and convert it "
        "with astype",
        path, header.descr, name(dtype), dtype == DType::bf16 ? " (stored as uint16)" : "");
  return read_elements(path, bytes, header, dtype);
}

void save_npy(const Tensor& x, const std::string& path) {
  std::string bytes = frontend::npy_header(x.dtype(), x.shape());
  const std::size_t header = bytes.size();
  bytes.resize(header + x.nbytes());
  x.copy_to(bytes.data() + header);
  write_file(path, bytes, "the tensor");
}

}  // namespace sinter
