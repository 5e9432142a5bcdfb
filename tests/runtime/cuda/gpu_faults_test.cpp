// What goes wrong on a GPU while it runs. Such a process is spoiled, so each test starts another one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "runtime/buffer.h"
#include "runtime/kernel_cache.h"
#include "runtime/steps.h"
#include "runtime/subprocess.h"
#include "sinter/sinter.h"
#include "tests/frontend/tensors.h"
#include "tests/support/gpu.h"

using namespace sinter;
using Catch::Matchers::ContainsSubstring;
using runtime::Buffer;
using runtime::KernelLaunch;
using runtime::LoadedKernel;
using runtime::Outcome;
using sinter::testing::need_gpu;
using sinter::testing::numbers;

namespace {

/// Runs a hidden test of this executable in a process of its own.
Outcome run_alone(const std::string& tag) {
  runtime::Command command;
  command.arguments = {"/proc/self/exe", tag};
  char path[4096] = {};
  REQUIRE(::readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  command.arguments[0] = path;
  command.time_limit = std::chrono::seconds(100);
  return runtime::run_program(command);
}

std::shared_ptr<const LoadedKernel> loaded(runtime::Device& gpu, const std::string& name,
                                           const std::string& body) {
  const std::string text =
      "extern \"C\" __global__ void __launch_bounds__(1024) " + name + "(int* const to) { " + body + " }\n";
  return runtime::kernel_cache().get_or_compile({name, text, text, name, gpu.target(), gpu.id().ordinal});
}

void launch(runtime::Device& gpu, const LoadedKernel& kernel, const char* name, void* address,
            int threads = 1) {
  KernelLaunch launch;
  launch.name = name;
  launch.units = 1;
  launch.block_threads = threads;
  gpu.check_kernel(launch, kernel);
  std::byte params[sizeof address];
  std::memcpy(params, &address, sizeof address);
  gpu.run_kernel(launch, kernel, params);
}

}  // namespace

TEST_CASE("a kernel that faults is named where that is noticed, and the device is lost from then on") {
  need_gpu();
  const Outcome outcome = run_alone("[faulting-kernel]");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.ok());
}

TEST_CASE("in a process of its own: a kernel faults", "[.][faulting-kernel]") {
  runtime::Device& gpu = need_gpu();
  const auto good = loaded(gpu, "writes_seven", "*to = 7;");
  const auto bad = loaded(gpu, "writes_nowhere", "*to = 7;");
  const auto buffer = Buffer::allocate(4, gpu);
  launch(gpu, *good, "writes_seven", buffer->data());
  int value = 0;
  gpu.copy_to_host(&value, buffer->data(), 4);
  CHECK(value == 7);
  launch(gpu, *bad, "writes_nowhere", nullptr);
  CHECK_THROWS_WITH(synchronize(),
                    ContainsSubstring("kernel writes_nowhere or work started before it failed") &&
                        ContainsSubstring("noticed when waiting for the device"));
  CHECK_THROWS_WITH(launch(gpu, *good, "writes_seven", buffer->data()),
                    ContainsSubstring("cuda is lost to this process") && ContainsSubstring("writes_nowhere"));
  CHECK_THROWS_AS(Buffer::allocate(1 << 20, gpu), DeviceError);
  CHECK_THROWS_AS(synchronize(), DeviceError);
}

TEST_CASE("the CPU goes on when a GPU is lost, and the process ends in peace") {
  need_gpu();
  const Outcome outcome = run_alone("[lost-and-cpu]");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.ok());
}

TEST_CASE("in a process of its own: a device is lost", "[.][lost-and-cpu]") {
  runtime::Device& gpu = need_gpu();
  static const Tensor outlives_main = ones({100}).to(Device("cuda")) + 1.0;
  const auto bad = loaded(gpu, "writes_nowhere", "*to = 7;");
  launch(gpu, *bad, "writes_nowhere", nullptr);
  CHECK_THROWS_AS(numbers(outlives_main), DeviceError);
  const Device cpu("cpu");
  CHECK(numbers(from_vector<float>({1, 2}, {2}, cpu) + 1.0) == std::vector<double>{2, 3});
}

TEST_CASE("more threads than a kernel's registers allow are refused before the driver does it") {
  runtime::Device& gpu = need_gpu();
  const auto kernel = loaded(gpu, "takes_few", "*to = 7;");
  KernelLaunch wide;
  wide.name = "takes_few";
  wide.units = 1;
  wide.block_threads = 2048;
  CHECK_THROWS_WITH(gpu.check_kernel(wide, *kernel),
                    ContainsSubstring("kernel takes_few: is launched with 2048 threads a block"));
}

TEST_CASE(
    "shared memory, clusters and waiting blocks that a GPU has no room for are refused before it runs them") {
  runtime::Device& gpu = need_gpu();
  const auto kernel = loaded(gpu, "takes_few", "*to = 7;");
  KernelLaunch large;
  large.name = "takes_few";
  large.units = 1;
  large.block_threads = 32;
  large.shared_bytes = 1 << 20;
  CHECK_THROWS_WITH(gpu.check_kernel(large, *kernel),
                    ContainsSubstring("kernel takes_few: is launched with 1048576 bytes of shared memory"));
  KernelLaunch wide = large;
  wide.shared_bytes = 0;
  wide.units = wide.cluster = 64;
  CHECK_THROWS_WITH(gpu.check_kernel(wide, *kernel),
                    ContainsSubstring("kernel takes_few: is launched in clusters of 64 blocks"));
  KernelLaunch waiting = wide;
  waiting.cluster = 1;
  waiting.units = waiting.together = 1 << 20;
  CHECK_THROWS_WITH(gpu.check_kernel(waiting, *kernel),
                    ContainsSubstring("kernel takes_few: 1048576 of its blocks wait for each other, and"));
}

TEST_CASE("a child made by fork() after CUDA was used is told so") {
  runtime::Device& gpu = need_gpu();
  const Tensor x = ones({3}).to(Device("cuda")) + 1.0;
  gpu.synchronize();
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      x.to_vector<float>();
      code = 3;
    } catch (const DeviceError& error) {
      code = std::string(error.what()).find("made by fork() after CUDA had been used") == std::string::npos;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(numbers(x) == std::vector<double>{2, 2, 2});  // the parent goes on
}
