#include "runtime/device.h"

#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("devices have names") {
  CHECK(DeviceId::cpu().name() == "cpu");
  CHECK(DeviceId::cuda().name() == "cuda");
  CHECK(DeviceId::cuda(3).name() == "cuda:3");
  CHECK(parse_device("cpu") == DeviceId::cpu());
  CHECK(parse_device("cuda") == DeviceId::cuda(0));
  CHECK(parse_device("cuda:0") == DeviceId::cuda(0));
  CHECK(parse_device("cuda:12") == DeviceId::cuda(12));
  for (const char* wrong :
       {"", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cpu:0", "cuda:99999999999"})
    CHECK_THROWS_WITH(parse_device(wrong), ContainsSubstring("there is no device"));
}

TEST_CASE("a GPU that is not there is refused with the reason, and is never the CPU") {
  const CudaState& cuda = cuda_state();
  if (cuda.usable()) {
    CHECK(device(DeviceId::cuda()).id() == DeviceId::cuda());
    CHECK_THROWS_WITH(device(DeviceId::cuda(63)), ContainsSubstring("there is no GPU of that number"));
  } else {
    CHECK_FALSE(cuda.hint.empty());
    CHECK_THROWS_WITH(device(DeviceId::cuda()), ContainsSubstring(cuda.reason));
  }
}

TEST_CASE("the setting chooses the default device") {
  using sinter::testing::ScopedEnvironment;
  {
    const ScopedEnvironment environment{{"SINTER_DEVICE", "cpu"}};
    CHECK(default_device().is_cpu());
  }
  {
    const ScopedEnvironment environment{{"SINTER_DEVICE", "gpu"}};
    CHECK_THROWS_WITH(default_device(), ContainsSubstring("there is no device \"gpu\""));
  }
  {
    const ScopedEnvironment environment{{"SINTER_DEVICE", "auto"}, {"SINTER_REQUIRE_GPU", "1"}};
    if (cuda_state().usable())
      CHECK(default_device().id() == DeviceId::cuda());
    else
      CHECK_THROWS_WITH(default_device(),
                        ContainsSubstring("SINTER_REQUIRE_GPU") && ContainsSubstring(cuda_state().reason));
  }
  {
    const ScopedEnvironment environment{{"SINTER_DEVICE", "auto"}, {"SINTER_REQUIRE_GPU", "0"}};
    CHECK(default_device().is_cpu() == !cuda_state().usable());
  }
}

TEST_CASE("the CPU copies and fills") {
  Device& cpu = cpu_device();
  std::uint32_t words[4] = {1, 2, 3, 4}, copy[4] = {};
  cpu.fill(words, 0x01020304, 4, 2);
  CHECK(words[0] == 0x01020304);
  CHECK(words[1] == 0x01020304);
  CHECK(words[2] == 3);
  cpu.copy_from_host(copy, words, sizeof words);
  CHECK(copy[3] == 4);
  CHECK(cpu.stream() == nullptr);
  cpu.synchronize();
}
