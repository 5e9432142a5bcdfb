// A user's first program: the same source however sinter was taken in.
#include <sinter/sinter.h>

#include <cmath>
#include <cstdio>
#include <vector>

using sinter::Tensor;

int main() {
  auto gelu = sinter::compile(
      [](Tensor x) { return 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x))); });
  const std::vector<float> y =
      gelu(sinter::from_vector(std::vector<float>{-1.0f, 0.0f, 1.0f})).to_vector<float>();
  std::printf("gelu(-1, 0, 1) = %g, %g, %g\n", y[0], y[1], y[2]);
  const bool right = std::abs(y[0] + 0.158808f) < 1e-5f && y[1] == 0.0f && std::abs(y[2] - 0.841192f) < 1e-5f;
  return right ? 0 : 1;
}
