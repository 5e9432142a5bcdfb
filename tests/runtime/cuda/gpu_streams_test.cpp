// Work on streams of the user's, and tensors that go from one to another.
#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "runtime/allocator.h"
#include "runtime/buffer.h"
#include "runtime/stream_scope.h"
#include "sinter/sinter.h"
#include "tests/frontend/tensors.h"
#include "tests/support/gpu.h"
#include "tests/support/user_stream.h"

using namespace sinter;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Work for a while: a chain of kernels over a large tensor.
Tensor busy(Tensor x) {
  for (int i = 0; i < 50; ++i) x = x * 1.0001 + 0.0;
  return x;
}

}  // namespace

TEST_CASE("a tensor made on a stream of the user's is right on another and on the default one") {
  need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 1 << 22;
  const Tensor x = ones({n}).to(gpu);
  const std::vector<double> expected = numbers(slice(busy(x), {{0, 3}}));
  for (int round = 0; round < 3; ++round) {
    Tensor y;
    {
      const UserStream one, other;
      {
        const StreamScope scope(one.get(), gpu);
        y = busy(x);
      }
      {
        const StreamScope scope(other.get(), gpu);
        const Tensor z = y + 0.0;
        CHECK(numbers(slice(z, {{n - 3, n}})) == expected);
      }
    }  // the streams are no more
    CHECK(numbers(slice(y + 0.0, {{n - 3, n}})) == expected);
  }
}

TEST_CASE("memory freed on a stream whose work goes on is not given to another") {
  runtime::Device& device = need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 1 << 24;
  const Tensor x = full({n}, 3.0).to(gpu);
  device.synchronize();
  const UserStream one;
  Tensor sum_of_all;
  {
    const StreamScope scope(one.get(), gpu);
    Tensor y = busy(x) * 0.0 + x;
    sum_of_all = sum(y);
    y = Tensor();  // freed while it is read
  }
  std::vector<Tensor> others;  // of the same size, and filled at once by the default stream
  for (int i = 0; i < 4; ++i) others.push_back(full({n}, 7.0).to(gpu));
  CHECK(sum_of_all.item<double>() == 3.0 * n);
}

TEST_CASE("a tensor used on another stream keeps its memory until that has run") {
  need_gpu();
  const Device gpu("cuda");
  constexpr std::int64_t n = 1 << 24;
  const UserStream one;
  Tensor x = full({n}, 3.0).to(gpu), total;
  {
    const StreamScope scope(one.get(), gpu);
    const Tensor late = busy(full({n}, 0.0).to(gpu));
    total = sum(x + late * 0.0);
    x = Tensor();  // made on the default stream, freed while the user's reads it
  }
  const Tensor other = full({n}, 7.0).to(gpu);
  CHECK(total.item<double>() == 3.0 * n);
  CHECK(other.device() == gpu);
}

TEST_CASE("threads with streams of their own share tensors and memory") {
  need_gpu();
  const Device gpu("cuda");
  constexpr int threads = 8, rounds = 40;
  constexpr std::int64_t n = 1 << 16;
  struct Slot {
    Tensor tensor;
    double value = 0;  // of each element
  };
  std::vector<Slot> slots;
  for (int i = 0; i < threads; ++i) slots.push_back({full({n}, static_cast<double>(i), f32).to(gpu), 1. * i});
  const std::vector<UserStream> streams(threads);
  std::mutex mutex;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        const StreamScope scope(streams[static_cast<std::size_t>(t)].get(), gpu);
        const auto place = static_cast<std::size_t>((t * 5 + round * 3) % threads);
        Slot mine;
        {
          const std::lock_guard lock(mutex);
          mine = slots[place];
        }
        const Tensor next = mine.tensor + 1.0;
        const double total = sum(next * 1.0, {.dtype = f64}).item<double>();
        wrong += total != (mine.value + 1) * static_cast<double>(n);
        const std::lock_guard lock(mutex);
        slots[place] = {next, mine.value + 1};  // what was there may still be read by others
      }
    });
  for (std::thread& thread : all) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("scopes nest, and each thread has its own") {
  runtime::Device& device = need_gpu();
  const Device gpu("cuda");
  const UserStream one, other;
  const auto by_default = device.stream();
  {
    const StreamScope outer(one.get(), gpu);
    const auto first = device.stream();
    CHECK(first != by_default);
    {
      const StreamScope inner(other.get(), gpu);
      CHECK(device.stream() != first);
      const StreamScope none(nullptr, gpu);
      CHECK(device.stream() == by_default);
    }
    CHECK(device.stream() == first);
    std::thread([&] { CHECK(device.stream() == by_default); }).join();
    const StreamScope again(one.get(), gpu);
    CHECK(device.stream() == first);  // the same stream, the same object
  }
  CHECK(device.stream() == by_default);
}

TEST_CASE("programs run on the stream of the scope") {
  need_gpu();
  const Device gpu("cuda");
  const UserStream mine;
  const Tensor x = ones({1 << 24}).to(gpu);
  busy(x);
  synchronize();
  const StreamScope scope(mine.get(), gpu);
  const Tensor y = busy(x);
  CHECK(cudaStreamQuery(mine.get()) == cudaErrorNotReady);
  cudaGetLastError();
  CHECK(cudaStreamSynchronize(mine.get()) == cudaSuccess);
  CHECK(y.device() == gpu);
}

TEST_CASE("folds that blocks share have the same bits in every run, on two streams at once") {
  need_gpu();
  const Device gpu("cuda");
  const Tensor x = sin(arange(3 << 20).to(gpu) * 0.37);
  const auto folds = [](const Tensor& rows, const Tensor& columns) {
    return std::vector<Tensor>{sum(rows, {.axes = {1}}), argmax(rows, {.axes = {1}}),
                               sum(columns, {.axes = {0}}), max(columns, {.axes = {0}})};
  };
  const Tensor rows = reshape(x, {3, 1 << 20}) + 0.0, columns = reshape(x, {3 << 16, 16}) + 0.0;
  std::vector<std::vector<double>> expected;
  for (const Tensor& t : folds(rows, columns)) expected.push_back(numbers(t));
  synchronize();
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    const UserStream stream;
    const StreamScope scope(stream.get(), gpu);
    for (int round = 0; round < 30; ++round) {
      const std::vector<Tensor> results = folds(rows, columns);
      for (std::size_t i = 0; i < results.size(); ++i) wrong += numbers(results[i]) != expected[i];
    }
  };
  std::thread one(work), other(work);
  one.join();
  other.join();
  CHECK(wrong == 0);
}
