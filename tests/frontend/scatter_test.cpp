// scatter_add and index_add as users call them, eagerly and compiled.
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("scatters add slices where their indices say, and drop those out of range") {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(numbers(scatter_add(x, ints({1, -1, 1}), 3)) == std::vector<double>{0, 0, 6, 8, 3, 4});
  CHECK(numbers(scatter_add(x, ints({0, 5}), 2, 1)) == std::vector<double>{1, 0, 3, 0, 5, 0});
  CHECK(numbers(scatter_add(x, x.astype(int64) % 2, 2)) == std::vector<double>{12, 9});
  CHECK(numbers(scatter_add(floats({7}, {}), 1, 3)) == std::vector<double>{0, 7, 0});
  CHECK(scatter_add(x.astype(bf16), ints({0, 0, 0}), 4).dtype() == bf16);
  CHECK(numbers(scatter_add(ints({100, 100, 100}).astype(int8), ints({0, 0, 0}), 1)) ==
        std::vector<double>{44});
  CHECK(numbers(index_add(floats({10, 20}), ints({1, 1, 0}), floats({1, 2, 3}))) ==
        std::vector<double>{13, 23});
  const Tensor narrow = x.astype(bf16);
  CHECK(index_add(narrow, ints({0, 0, 1}), x).dtype() == f32);
  // The gradient of taking rows of a table.
  auto gradient = compile([](Tensor g, Tensor index) { return scatter_add(g * 0.5, index, 4); });
  CHECK(numbers(gradient(x, ints({3, 0, 3}))) == std::vector<double>{1.5, 2, 0, 0, 0, 0, 3, 4});
}
