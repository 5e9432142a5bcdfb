// Tensors on a GPU, as users have them.
#include <dlpack/dlpack.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "sinter/dlpack.h"
#include "tests/frontend/environment.h"
#include "tests/frontend/tensors.h"
#include "tests/support/gpu.h"

using namespace sinter;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("tensors go to a GPU and back, in any layout") {
  need_gpu();
  const Device cpu("cpu"), gpu("cuda");
  const Tensor x = from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3}, cpu);
  const Tensor there = x.to(gpu);
  CHECK(there.device() == gpu);
  CHECK(x.device() == cpu);
  CHECK(there.to(gpu).data() == there.data());
  CHECK(numbers(there.to(cpu)) == numbers(x));
  CHECK(permute_dims(there, {1, 0}).to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(flip(there).to(cpu).to_vector<float>() == std::vector<float>{6, 5, 4, 3, 2, 1});
  CHECK(permute_dims(x, {1, 0}).to(gpu).to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(broadcast_to(slice(there, {{1, 2}}), {4, 3}).to(cpu).to_vector<float>().at(11) == 6);
  CHECK(slice(there, {{}, {1, 2}}).str() == slice(x, {{}, {1, 2}}).str());
  const Tensor large = reshape(arange(1 << 18, f32), {1 << 9, 1 << 9}).to(gpu);
  CHECK(slice(large, {{}, {5, 6}}).to_vector<float>().at(511) == 511 * 512 + 5);  // few of many bytes
  CHECK(slice(there, {{1}, {2}}).item<float>() == 6);
  CHECK(static_cast<bool>(slice(there, {{1}, {2}}) > 5));
  CHECK(zeros({0, 3}).to(gpu).to_vector<float>().empty());
}

TEST_CASE("operations run where their tensors are") {
  need_gpu();
  const Device cpu("cpu"), gpu("cuda");
  for (const Device& device : {cpu, gpu}) {
    const Tensor x = from_vector<float>({1, 2, 3, 4}, {2, 2}, device);
    CHECK((x + 1.0).device() == device);
    CHECK(sum(x).device() == device);
    CHECK(numbers(x + ones({2, 2})) == std::vector<double>{2, 3, 4, 5});  // a generator goes along
    CHECK((arange(2, f32) + x).device() == device);
    CHECK(numbers(matmul(x, x)) == std::vector<double>{7, 10, 15, 22});
    const auto f = compile([](Tensor x, Tensor s) { return softmax(x) * s + arange(2, f32); });
    const Tensor y = f(x, 2.0);
    CHECK(y.device() == device);
    CHECK(near(y, {0.5378828, 2.4621172, 0.5378828, 2.4621172}));
    CHECK(compile([](Tensor x) { return x * 1.0; })(x).device() == device);
  }
  const Tensor made = zeros({2});
  made.data();  // in memory of the default device
  CHECK(numbers(made + from_vector<float>({1, 2}, {2}, cpu)) == std::vector<double>{1, 2});
  CHECK(numbers(made + from_vector<float>({1, 2}, {2}, gpu)) == std::vector<double>{1, 2});
}

TEST_CASE("SINTER_CHECK=1 finds indices out of range on a GPU") {
  need_gpu();
  const Device gpu("cuda");
  const Tensor x = from_vector<float>({1, 2, 3, 4, 5, 6}, {3, 2}, gpu);
  const auto indices = [&](std::int64_t last) { return from_vector<std::int64_t>({-3, last}, {2}, gpu); };
  const auto f = compile([](Tensor x, Tensor i) { return exp(take(x, i + 1, 0)); });
  const Environment check("SINTER_CHECK", "1");
  CHECK(numbers(take(x, indices(2), 0)) == std::vector<double>{1, 2, 5, 6});
  CHECK_THROWS_WITH(take(x, indices(3), 0), ContainsSubstring("the index 3 at [1] is out of range"));
  CHECK(near(f(x, indices(1)), {std::exp(3.0), std::exp(4.0), std::exp(5.0), std::exp(6.0)}));
  CHECK_THROWS_WITH(f(x, indices(2)), ContainsSubstring("the index 3 at [1] is out of range"));
}

TEST_CASE("tensors of two devices do not mix, and the error names both") {
  need_gpu();
  const Tensor here = from_vector<float>({1, 2}, {2}, Device("cpu"));
  const Tensor there = from_vector<float>({1, 2}, {2}, Device("cuda"));
  const auto names_both = [&](const auto& call) {
    CHECK_THROWS_WITH(call(), ContainsSubstring("f32[2] on cpu") && ContainsSubstring("f32[2] on cuda") &&
                                  ContainsSubstring("to()"));
  };
  names_both([&] { return here + there; });
  CHECK_THROWS_AS(concat({here, there}), DeviceError);
  const auto f = compile([](Tensor x, Tensor y) { return x + y; });
  names_both([&] { return f(here, there); });
  CHECK(numbers(f(there, there)) == std::vector<double>{2, 4});
  CHECK(numbers(f(here, here)) == std::vector<double>{2, 4});
  CHECK(f.programs().size() == 2);
  const auto closes_over = compile([&](Tensor x) { return x * there; });
  names_both([&] { return closes_over(here); });
}

TEST_CASE("constants are filled on a GPU in every dtype") {
  need_gpu();
  for (const DType t : all_dtypes) {
    const Tensor x = full({5}, 1, t).to(Device("cuda"));
    CHECK(x.dtype() == t);
    CHECK(numbers(x) == std::vector<double>(5, 1));
  }
  CHECK(numbers(full({3}, 0.1, f64).to(Device("cuda"))) == std::vector<double>(3, 0.1));
}

TEST_CASE("random numbers are the same on every device") {
  need_gpu();
  const auto draw = [](const char* device) {
    manual_seed(7);
    const auto f = compile([](Tensor x) { return x + rand({1000}); });
    return numbers(f(zeros({1000}).to(Device(device))));
  };
  CHECK(draw("cpu") == draw("cuda"));
}

TEST_CASE("memory of a GPU goes out and comes in through DLPack") {
  need_gpu();
  const Tensor x = from_vector<float>({1, 2, 3}, {3}, Device("cuda"));
  DLManagedTensor* managed = to_dlpack(x);
  CHECK(managed->dl_tensor.device.device_type == kDLCUDA);
  CHECK(managed->dl_tensor.device.device_id == 0);
  CHECK(managed->dl_tensor.data == x.data());
  const Tensor y = from_dlpack(managed);
  CHECK(y.device() == Device("cuda"));
  CHECK(y.data() == x.data());
  CHECK(numbers(y * 2.0) == std::vector<double>{2, 4, 6});
}

TEST_CASE("a GPU's memory of somebody else's is used in place") {
  need_gpu();
  const Device gpu("cuda");
  const Tensor owner = from_vector<float>({1, 2, 3, 4}, {4}, gpu);
  int deleted = 0;
  {
    const Tensor x = from_device(
        const_cast<void*>(owner.data()), {2, 2}, {1, 2}, f32, [&](void*) { ++deleted; }, gpu);
    CHECK(numbers(x) == std::vector<double>{1, 3, 2, 4});
    CHECK(numbers(x + 1.0) == std::vector<double>{2, 4, 3, 5});
  }
  CHECK(deleted == 1);
  std::vector<float> host(4);
  CHECK_THROWS_WITH(from_device(host.data(), {4}, f32, {}, gpu), ContainsSubstring("memory of the host"));
}

TEST_CASE("a thread's first use of a GPU may be anything") {
  need_gpu();
  const Device gpu("cuda");
  const Tensor x = from_vector<float>({1, 2}, {2}, gpu);
  std::vector<double> filled, copied, computed;
  std::thread([&] { filled = numbers(full({2}, 0.1, f64).to(gpu)); }).join();
  std::thread([&] { copied = numbers(x.to(Device("cpu"))); }).join();
  std::thread([&] { computed = numbers(x + 1.0); }).join();
  CHECK(filled == std::vector<double>{0.1, 0.1});
  CHECK(copied == std::vector<double>{1, 2});
  CHECK(computed == std::vector<double>{2, 3});
}

TEST_CASE("a second GPU is a device of its own") {
  need_gpu();
  if (runtime::cuda_state().gpus.size() < 2) SINTER_SKIP("there is one GPU only");
  const Device first("cuda"), second("cuda:1");
  CHECK(second.name() == "cuda:1");
  const Tensor x = from_vector<float>({1, 2, 3, 4}, {2, 2}, first);
  const Tensor y = permute_dims(x, {1, 0}).to(second);
  CHECK(y.device() == second);
  CHECK(numbers(y) == std::vector<double>{1, 3, 2, 4});
  CHECK(x.to(second).to(first).to_vector<float>() == std::vector<float>{1, 2, 3, 4});
  CHECK_THROWS_WITH(x + y, ContainsSubstring("on cuda and") && ContainsSubstring("on cuda:1"));
  const auto f = compile([](Tensor x) { return softmax(matmul(x, x)) + rand({2, 2}) * 0.0; });
  const Tensor here = f(x), there = f(x.to(second));
  CHECK(here.device() == first);
  CHECK(there.device() == second);
  CHECK(numbers(here) == numbers(there));
  CHECK(f.programs().size() == 2);
  CHECK_THROWS_WITH(from_device(const_cast<void*>(x.data()), {4}, f32, {}, second),
                    ContainsSubstring("is memory of cuda"));
  synchronize();
}

TEST_CASE("32 threads call one function on a GPU") {
  need_gpu();
  const auto f = compile([](Tensor x) { return sum(x * 2.0) + 1.0; });
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) {
        const Tensor x = full({1000}, static_cast<double>(i + k), f32).to(Device("cuda"));
        right += f(x).item<double>() == 2000.0 * (i + k) + 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 32 * 20);
  CHECK(f.programs().size() == 1);
}

TEST_CASE("host cost of calls", "[.][cost]") {
  const Tensor x = ones({1024}).to(Device());
  const auto time = [&](const char* what, int ops, const auto& call) {
    for (int i = 0; i < 100; ++i) call();
    double best = 1e9;
    for (int repeat = 0; repeat < 20; ++repeat) {
      synchronize();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 100; ++i) call();
      const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
      best = std::min(best, spent.count() / 100 / ops);
    }
    std::cout << what << ": " << best << " us\n";
  };
  time("eager x + x", 1, [&] { return x + x; });
  time("eager x * 2", 1, [&] { return x * 2.0; });
  time("eager sum", 1, [&] { return sum(x); });
  const auto f = compile([](Tensor x) { return tanh(x) * 2.0 + x; });
  time("compiled, one kernel", 1, [&] { return f(x); });
  const auto g = compile([](Tensor x) {
    for (int i = 0; i < 20; ++i) x = softmax(x);
    return x;
  });
  time("compiled, per kernel of 20 or more", 1, [&] { return g(x); });
  std::cout << g.programs().front().launches() << " launches\n";
}
