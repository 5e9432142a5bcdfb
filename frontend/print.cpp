#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "frontend/elements.h"
#include "frontend/tensor_impl.h"
#include "sinter/tensor.h"

namespace sinter {
namespace {

constexpr std::int64_t whole_up_to = 1000;  // elements; of larger tensors the middle of long axes is left out
constexpr std::int64_t edge = 3;            // elements shown at either end of such an axis

std::string element_text(DType dtype, const std::byte* at) {
  const ir::Scalar value = frontend::element(dtype, at);
  if (is_bool(dtype)) return value.bits ? "true" : "false";
  if (!is_float(dtype)) return fmt::format("{}", value.whole());
  // As short as tells the value from its neighbours in f32; 16-bit values are exact there.
  if (dtype == DType::f64) return fmt::format("{}", static_cast<double>(value.real()));
  return fmt::format("{}", static_cast<float>(value.real()));
}

class Printer {
 public:
  Printer(const Tensor& x) : dtype_(x.dtype()), shape_(x.shape()), strides_(x.strides()) {
    std::int64_t shown = 1;  // numbers, or brackets around none
    for (const std::int64_t length : shape_)
      shortened_ = shortened_ || __builtin_mul_overflow(shown, std::max<std::int64_t>(1, length), &shown);
    shortened_ = shortened_ || shown > whole_up_to;
  }

  void print(std::size_t axis, const std::byte* at) {
    if (axis == shape_.size()) {
      text += element_text(dtype_, at);
      return;
    }
    const std::int64_t length = shape_[axis];
    const bool last = axis + 1 == shape_.size();
    const std::string between = last ? ", " : ",\n" + std::string(axis + 1, ' ');
    text += '[';
    for (std::int64_t i = 0; i < length; ++i) {
      if (i > 0) text += between;
      if (shortened_ && length > 2 * edge && i == edge) {
        text += "...";
        i = length - edge - 1;
        continue;
      }
      print(axis + 1, at + i * strides_[axis] * size_of(dtype_));
    }
    text += ']';
  }

  std::string text;

 private:
  DType dtype_;
  Shape shape_, strides_;
  bool shortened_ = false;
};

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "no tensor";
  if (std::holds_alternative<frontend::CaptureNode>(frontend::impl_of(*this).content))
    return frontend::describe(*this) + " (a value of a compiled function being captured)";
  const Tensor host = to(Device("cpu"));
  Printer printer(host);
  printer.print(0, static_cast<const std::byte*>(host.data()));
  return frontend::describe(*this) + (rank() > 1 ? "\n" : " ") + printer.text;
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  return out << x.str();
}

}  // namespace sinter
