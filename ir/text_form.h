// What printing and parsing the text form of a graph share: how names, numbers and attributes are spelled.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/op.h"
#include "ir/scalar.h"

namespace sinter::ir {

/// Letters, digits, '_' and '.', not beginning with a digit: such a name stands as it is, any other in
/// quotes.
bool is_plain_name(std::string_view name);
/// The name in quotes if it needs them; control characters as \n, \r, \t or \xNN, other bytes as they are.
std::string spell_name(std::string_view name);

/// The shortest number that gives the scalar's value when converted to its dtype: "0.1", "1.0", "-inf",
/// "true", "3". A NaN other than the dtype's usual one is "nan:0x7fc00001", its bits.
std::string spell_number(const Scalar& value);
/// With its dtype: "f32(0.1)".
std::string spell_scalar(const Scalar& value);

/// The attributes that an op takes in the text form, in the order they are printed.
std::span<const std::string_view> attribute_names(Op op);

}  // namespace sinter::ir
