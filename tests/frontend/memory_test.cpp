// Memory: what tensors and programs hold and give back, and what happens when there is none.
#include <filesystem>

#include "runtime/allocator.h"
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::int64_t in_use() {
  return runtime::default_device().allocator().stats().in_use;
}

/// Runs `action` with its first, second, ... request for memory failing until none does. Each time it must
/// throw DeviceError, leave nothing allocated, and give `expected` when run again.
template <class F>
void survive_failures(const F& action, const std::vector<double>& expected) {
  action();  // programs and kernels are made
  const std::int64_t before = in_use();
  for (int nth = 1; nth < 100; ++nth) {
    INFO("request " << nth);
    runtime::default_device().allocator().fail_request(nth);
    bool failed = false;
    try {
      action();
    } catch (const DeviceError&) {
      failed = true;
    }
    runtime::default_device().allocator().fail_request(0);
    CHECK(in_use() == before);
    CHECK(numbers(action()) == expected);
    if (failed) continue;
    CHECK(nth > 1);  // it does need memory
    return;
  }
  FAIL("it fails for ever");
}

}  // namespace

TEST_CASE("memory goes back when the last tensor over it goes") {
  const std::int64_t before = in_use();
  {
    const Tensor x = floats({1, 2, 3, 4}, {2, 2});
    const Tensor view = flip(permute_dims(x, {1, 0}));
    CHECK(in_use() == before + 64);
    const Tensor y = x + view;
    CHECK(in_use() == before + 128);
  }
  CHECK(in_use() == before);
}

TEST_CASE("a compiled function holds what it closes over, and nothing of its calls") {
  const std::int64_t before = in_use();
  {
    const auto f = compile([w = floats({1, 2})](Tensor x) { return softmax(x) * w; });
    CHECK(in_use() == before + 64);
    f(floats({1, 2}));
    f(floats({3, 4}));
    CHECK(in_use() == before + 64);
  }
  CHECK(in_use() == before);
}

TEST_CASE("when memory is out there is an error, nothing has changed, and the next call works") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  survive_failures([&] { return x + 1.0; }, {2, 3, 4, 5});
  survive_failures([&] { return sum(x * x, {.axes = -1}); }, {5, 25});
  const auto f = compile([](Tensor x, Tensor s) { return matmul(x, x) * s + x; });
  survive_failures([&] { return f(x, 2.0); }, {15, 22, 33, 48});
  survive_failures([&] { return arange(3) + 1; }, {1, 2, 3});
  const std::string path = (std::filesystem::temp_directory_path() / "sinter-memory-test.npy").string();
  save_npy(x, path);
  survive_failures([&] { return load(path); }, {1, 2, 3, 4});
  std::filesystem::remove(path);
}
