// Programs against the reference, for graphs in text form.
#pragma once

#include <string>
#include <vector>

#include "ir/parse.h"
#include "ir/rewrite.h"
#include "tests/catch.h"
#include "tests/support/arrays.h"
#include "tests/support/compare.h"
#include "tests/support/error_bounds.h"
#include "tests/support/run_program.h"

namespace sinter::testing {

inline runtime::ProgramOptions in_mode(Numerics numerics) {
  runtime::ProgramOptions options;
  options.numerics = numerics;
  return options;
}

inline constexpr Numerics all_modes[] = {Numerics::strict, Numerics::standard, Numerics::fast};

/// What is off about the graph's program within the reference's error bounds, or "".
inline std::string off_bounds(const ir::Graph& g, const std::vector<ir::Array>& inputs, Numerics numerics) {
  return mismatch(run_program(ir::without_dead_nodes(g), inputs, in_mode(numerics)),
                  evaluate_bounded(g, inputs));
}

/// The same for results that are exact, however they are computed: the reference's, rounded.
inline std::string off_exact(const ir::Graph& g, const std::vector<ir::Array>& inputs,
                             Numerics numerics = Numerics::standard) {
  const std::vector<ir::Array> got = run_program(ir::without_dead_nodes(g), inputs, in_mode(numerics));
  const std::vector<ir::Exact> expected = ir::evaluate_reference(g, inputs);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::string text = mismatch(got[i], expected[i]); !text.empty())
      return "output " + std::to_string(i) + ": " + text;
  return "";
}

/// Small whole numbers in no order, so that sums are exact and maxima have equals; as many as fit a shape.
inline ir::Array whole_numbers(DType t, std::vector<std::int64_t> shape, int seed = 0) {
  ir::Array array(t, std::move(shape));
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.set(i, ir::Scalar::from_whole(
                     t, (i * 7919 + seed * 31 + i / 97) % 103 - (is_bool(t) || t == DType::uint8 ? 0 : 51)));
  return array;
}

}  // namespace sinter::testing
