// A small network: blocks of layer norm, two linear layers with GeLU between them, and a residual. Products
// go to the matrix library; everything between two of them becomes one kernel. Weights are captured by the
// lambda.
//
//   mlp [layers] [dimension] [batch]
#include <cmath>

#include "compare.h"

using sinter::Tensor;

namespace {

struct Block {
  Tensor scale, shift, up, up_bias, down, down_bias;
};

Tensor weight(const sinter::Shape& shape, double size) {
  return sinter::randn(shape) * size;
}

Block make_block(std::int64_t dimension) {
  const double size = 0.5 / std::sqrt(static_cast<double>(dimension));
  return {weight({dimension}, 0.1) + 1.0,           weight({dimension}, 0.1),
          weight({4 * dimension, dimension}, size), weight({4 * dimension}, 0.1),
          weight({dimension, 4 * dimension}, size), weight({dimension}, 0.1)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t layers = length_argument(argc, argv, 1, 4),
                     dimension = length_argument(argc, argv, 2, 128),
                     batch = length_argument(argc, argv, 3, 256);
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < layers; ++i) blocks.push_back(make_block(dimension));

  const auto mlp = [blocks](Tensor x) {
    for (const Block& b : blocks) {
      const Tensor normal = layer_norm(x, {.weight = b.scale, .bias = b.shift});
      const Tensor hidden = sinter::gelu(linear(normal, b.up, b.up_bias));
      x = x + linear(hidden, b.down, b.down_bias);
    }
    return x;
  };
  return compare("mlp", mlp, sinter::randn({batch, dimension}), 1e-4) ? 0 : 1;
}
