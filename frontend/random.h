// The random sequence: where it stands, and the graphs that turn random bits into numbers.
#pragma once

#include <cstdint>
#include <utility>

#include "ir/build.h"

namespace sinter::frontend {

/// The seed, and the next place in the sequence of which nobody has read. Thread-safe.
std::pair<std::int64_t, std::int64_t> next_draw();

enum class Distribution : std::uint8_t { uniform, normal };

/// Random numbers of a float dtype, from key and counter as next_draw gives them.
ir::Value add_random(ir::Graph& g, Distribution distribution, ir::Value key, ir::Value counter,
                     const ir::Shape& shape, DType dtype, const ir::Where& where);

}  // namespace sinter::frontend
