// A device that runs nothing, and whose launches take what time a test says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/steps.h"
#include "sinter/error.h"

namespace sinter::testing {

class PretendedGpu final : public runtime::Device {
 public:
  PretendedGpu() : Device(runtime::DeviceId::cuda(), codegen::Target::cuda("sm_90a")) {}

  std::map<int, double> seconds;  // by threads of a block; 1 ms for others
  int refused_threads = 0;        // blocks of so many do not fit
  bool captures = false;
  std::vector<std::string> launched;
  int timed = 0;
  std::function<void()> on_launch;

  std::string description() const override { return "pretended"; }
  runtime::CachingAllocator& allocator() override { return runtime::host_allocator(); }
  const std::shared_ptr<runtime::Stream>& stream() override { return none_; }
  void synchronize() override {}
  void copy_from_host(void*, const void*, std::int64_t) override {}
  void copy_to_host(void*, const void*, std::int64_t) override {}
  void copy_from_peer(void*, Device&, const void*, std::int64_t) override {}
  void fill(void*, std::uint64_t, int, std::int64_t) override {}
  void check_reach(const void*) override {}
  void check_kernel(const runtime::KernelLaunch& launch, const runtime::LoadedKernel&) override {
    if (launch.block_threads == refused_threads) throw DeviceError("too many threads");
  }
  void run_kernel(const runtime::KernelLaunch& launch, const runtime::LoadedKernel&,
                  std::span<std::byte>) override {
    if (on_launch) on_launch();
    const auto at = seconds.find(launch.block_threads);
    last_ = at == seconds.end() ? 1e-3 : at->second;
    launched.push_back(launch.name);
  }
  void run_matmul(const runtime::MatmulLaunch&) override {}
  std::unique_ptr<runtime::Stopwatch> stopwatch() override {
    if (captures) return nullptr;
    return std::make_unique<Watch>(*this);
  }

 private:
  class Watch final : public runtime::Stopwatch {
   public:
    explicit Watch(PretendedGpu& gpu) : gpu_(gpu) {}
    double time(const std::function<void()>& start) override {
      start();
      ++gpu_.timed;
      now_ += gpu_.last_;
      return gpu_.last_;
    }
    double now() override { return now_; }

   private:
    PretendedGpu& gpu_;
    double now_ = 0;
  };

  const std::shared_ptr<runtime::Stream> none_;
  double last_ = 0;
};

}  // namespace sinter::testing
