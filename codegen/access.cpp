#include "codegen/access.h"

#include <algorithm>
#include <numeric>

namespace sinter::codegen {

bool is_dense_along(const Kernel& k, const Affine& address, int axis) {
  return address.factor(axis).is(1) && std::ranges::all_of(address.terms, [&](const Term& t) {
           return k.atoms[t.atom].kind == Atom::Kind::axis;
         });
}

int access_elements(const Kernel& k, int buffer, const Affine& address, int axis, std::int64_t step,
                    int bytes) {
  const KernelBuffer& b = k.buffers[static_cast<std::size_t>(buffer)];
  std::int64_t divisor = std::gcd(step, b.alignment / size_of(b.dtype));
  divisor = std::gcd(divisor, address.constant.known_divisor(k.facts));  // gcd(d, 0) is d
  for (const Term& t : address.terms)
    if (t.atom != axis) divisor = std::gcd(divisor, t.factor.known_divisor(k.facts));
  int elements = bytes / size_of(b.dtype);
  while (elements > 1 && divisor % elements != 0) elements /= 2;
  return elements;
}

int vector_elements(const Kernel& k, int axis, int bytes) {
  const std::int64_t extent = k.axes[static_cast<std::size_t>(axis)].extent.known_divisor(k.facts);
  int most = 1;
  auto see = [&](int buffer, const Affine& address) {
    if (is_dense_along(k, address, axis))
      most = std::max(most, access_elements(k, buffer, address, axis, extent, bytes));
  };
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::load && v.guard < 0) see(v.buffer, v.address);
  for (const KernelStore& s : k.stores) see(s.buffer, s.address);
  return most;
}

}  // namespace sinter::codegen
