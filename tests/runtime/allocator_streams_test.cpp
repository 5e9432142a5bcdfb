// The allocator on a device with streams, without one: a fake memory of bounded size, and streams whose work
// runs when the test says so.
#include <map>

#include "runtime/allocator.h"
#include "sinter/error.h"
#include "tests/catch.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60;

class FakeMemory final : public BlockSource {
 public:
  explicit FakeMemory(std::int64_t size) : free_(size) {}
  ~FakeMemory() override { CHECK(blocks_.empty()); }

  void* take(std::int64_t bytes) override {
    ++asked;
    if (bytes > free_) return nullptr;
    free_ -= bytes;
    auto* const address = reinterpret_cast<void*>(next_ += no_overlap);
    blocks_[address] = bytes;
    return address;
  }
  void give_back(void* data, std::int64_t bytes) noexcept override {
    CHECK(blocks_.at(data) == bytes);
    blocks_.erase(data);
    free_ += bytes;
  }
  std::string name() const override { return "fake:1"; }
  std::string state() const override { return ", " + std::to_string(free_) + " free on the device"; }

  int asked = 0;

 private:
  static constexpr std::uintptr_t no_overlap = std::uintptr_t{1} << 32;
  std::int64_t free_;
  std::uintptr_t next_ = 0;
  std::map<void*, std::int64_t> blocks_;
};

/// Work is counted: what was started, and how much of it has run.
class FakeStream final : public Stream {
 public:
  class At final : public Mark {
   public:
    At(FakeStream& stream, int position) : stream_(stream), position_(position) {}
    bool passed() override { return stream_.run >= position_; }
    void wait() override {
      ++stream_.waits;
      stream_.run = std::max(stream_.run, position_);
    }

   private:
    FakeStream& stream_;
    int position_;
  };

  std::unique_ptr<Mark> mark() override { return std::make_unique<At>(*this, started); }
  void follow(Stream&) override {}

  int started = 0, run = 0, waits = 0;
};

}  // namespace

TEST_CASE("a block freed on a stream serves that stream again at once") {
  FakeMemory memory(1 << 20);
  const auto stream = std::make_shared<FakeStream>();
  CachingAllocator allocator(memory, no_limit);
  void* const first = allocator.allocate(1000, stream);
  stream->started = 1;  // a kernel that reads it, and has not run
  allocator.free(first, 1000, stream);
  CHECK(allocator.allocate(1000, stream) == first);
  CHECK(memory.asked == 1);
  CHECK(stream->waits == 0);
  allocator.free(first, 1000, stream);
}

TEST_CASE("another stream gets a freed block only when the work on it has run") {
  FakeMemory memory(1 << 20);
  const auto ours = std::make_shared<FakeStream>(), theirs = std::make_shared<FakeStream>();
  CachingAllocator allocator(memory, no_limit);
  void* const first = allocator.allocate(1000, ours);
  ours->started = 1;
  allocator.free(first, 1000, ours);
  void* const second = allocator.allocate(1000, theirs);
  CHECK(second != first);
  ours->run = 1;
  CHECK(allocator.allocate(1000, theirs) == first);
  CHECK(ours->waits == 0);  // nobody waited
  allocator.free(first, 1000, theirs);
  allocator.free(second, 1000, theirs);
}

TEST_CASE("a block that other streams have used serves nobody before they have") {
  FakeMemory memory(1 << 20);
  const auto ours = std::make_shared<FakeStream>(), theirs = std::make_shared<FakeStream>();
  CachingAllocator allocator(memory, no_limit);
  void* const first = allocator.allocate(1000, ours);
  theirs->started = 3;
  const std::shared_ptr<Stream> others[] = {theirs};
  allocator.free(first, 1000, ours, others);
  theirs->started = 9;  // later work does not count
  void* const second = allocator.allocate(1000, ours);
  CHECK(second != first);
  theirs->run = 2;
  void* const third = allocator.allocate(1000, ours);
  CHECK(third != first);
  theirs->run = 3;
  CHECK(allocator.allocate(1000, ours) == first);
  for (void* const block : {first, second, third}) allocator.free(block, 1000, ours);
}

TEST_CASE("when the device is out of memory, idle blocks of all streams go back first") {
  FakeMemory memory(4096);
  const auto ours = std::make_shared<FakeStream>(), theirs = std::make_shared<FakeStream>();
  CachingAllocator allocator(memory, no_limit);
  void* const a = allocator.allocate(1024, ours);
  void* const b = allocator.allocate(2048, theirs);
  ours->started = theirs->started = 5;
  const std::shared_ptr<Stream> others[] = {theirs};
  allocator.free(a, 1024, ours, others);
  allocator.free(b, 2048, theirs);
  void* const all = allocator.allocate(4096, ours);
  CHECK(ours->run == 5);  // what ran on the blocks had to end before they went back
  CHECK(theirs->run == 5);
  CHECK(allocator.stats().cached == 0);
  allocator.free(all, 4096, ours);
}

TEST_CASE("what does not fit with its class's slack is served just so, and kept") {
  constexpr std::int64_t mib = 1 << 20;
  FakeMemory memory(36 * mib);
  const auto stream = std::make_shared<FakeStream>();
  CachingAllocator allocator(memory, no_limit);
  void* const large = allocator.allocate(33 * mib, stream);  // of the class of 40 MiB
  CHECK(allocator.stats().in_use == 34 * mib);
  CHECK_THROWS_AS(allocator.allocate(3 * mib, stream), sinter::DeviceError);
  allocator.free(large, 33 * mib, stream);
  CHECK(allocator.stats().in_use == 0);
  CHECK(allocator.stats().cached == 34 * mib);
  const int asked = memory.asked;
  CHECK(allocator.allocate(33 * mib, stream) == large);  // the same again asks for nothing
  CHECK(memory.asked == asked);
  allocator.free(large, 33 * mib, stream);
  void* const other = allocator.allocate(36 * mib, stream);
  CHECK(allocator.stats().cached == 0);
  allocator.free(other, 36 * mib, stream);
}

TEST_CASE("an error says what was requested, in use, cached and free, and the next small request works") {
  FakeMemory memory(8192);
  const auto stream = std::make_shared<FakeStream>();
  CachingAllocator allocator(memory, no_limit);
  void* const live = allocator.allocate(4096, stream);
  allocator.free(allocator.allocate(2048, stream), 2048, stream);
  CHECK_THROWS_WITH(allocator.allocate(100'000, stream),
                    "fake:1: out of memory: 100000 bytes requested, 4096 in use, 2048 cached (and given back "
                    "in vain), 4096 free on the device");
  CHECK(allocator.stats().in_use == 4096);
  void* const small = allocator.allocate(4096, stream);
  CHECK(small != live);
  allocator.free(small, 4096, stream);
  allocator.free(live, 4096, stream);
}
