// Inputs drawn from a seed.
#pragma once

#include <sinter/sinter.h>

#include <cstdint>

namespace suite {

/// How the floats of an input are distributed. Whole numbers are drawn evenly from those that make sense: the
/// axis that they index, else -4 to 4 (0 to 8 without sign); bools evenly.
enum class Draw : std::uint8_t {
  normal,     // mean 0, variance 1
  positive,   // the magnitude of a normal number
  weights,    // normal, over the square root of the first axis, so that products of matrices keep their size
  one_often,  // of whole numbers: half of them 0, the others as they usually are
};

/// Values for an input whose lengths are numbers. They depend on the seed and the input's number, name, dtype
/// and shape alone: the same on every machine and device. Throws sinter::ValueError while a length is a
/// symbol.
sinter::Tensor draw(const sinter::GraphInput& input, Draw how, std::uint64_t seed, std::uint64_t number,
                    const sinter::Device& device = {});

}  // namespace suite
