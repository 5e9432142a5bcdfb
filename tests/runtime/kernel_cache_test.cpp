#include "runtime/kernel_cache.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "runtime/cache_entry.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::in_child;
using sinter::testing::read_text;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// A kernel that adds `number` to each float.
KernelSpec adding(int number) {
  const std::string entry = "adding_" + std::to_string(number);
  const std::string key = "extern \"C\" void " + entry +
                          "(const void* p, long begin, long end, void*) {\n"
                          "  float* x = *static_cast<float* const*>(p);\n"
                          "  for (long i = begin; i < end; ++i) x[i] += " +
                          std::to_string(number) + ";\n}\n";
  return {"adding", key, "// header\n" + key, entry};
}

float apply(const LoadedKernel& kernel) {
  float value = 0.5f;
  float* data = &value;
  host_entry(kernel)(&data, 0, 1, nullptr);
  return value;
}

/// Stands for NVRTC and the driver, on any machine: an object is the target's name and the source, and
/// loading one is refused as often as `refusals` says.
class FakeToolchain final : public Toolchain {
 public:
  struct Log {
    int compilations = 0, loads = 0, refusals = 0;
  };
  explicit FakeToolchain(Log& log, std::string version = "1") : log_(log), version_(std::move(version)) {}

  bool usable() const override { return true; }
  const std::string& reason() const override { return reason_; }
  std::string identity(const sinter::codegen::Target& target) const override {
    return "fake " + version_ + " for " + target.arch;
  }
  std::string compile(const KernelSpec& spec) const override {
    ++log_.compilations;
    return spec.target.arch + ": " + spec.source;
  }
  std::shared_ptr<const LoadedKernel> load(const KernelSpec& spec, std::string_view object) const override {
    ++log_.loads;
    CHECK(object.starts_with(spec.target.arch));
    if (log_.refusals-- > 0) throw sinter::CompileError("the driver refuses " + spec.name);
    return std::make_shared<const LoadedKernel>();
  }

 private:
  Log& log_;
  std::string version_, reason_;
};

KernelSpec for_gpu(const std::string& arch) {
  return {"a kernel", "text", "// header\ntext", "entry", sinter::codegen::Target::cuda(arch)};
}

void need_compiler() {
  KernelCache cache{DiskCacheOptions{}};
  if (!cache.compiler().usable()) SINTER_SKIP("no C++ compiler: " + cache.compiler().reason());
}

}  // namespace

TEST_CASE("a kernel is compiled once, then found in memory, then on disk") {
  need_compiler();
  const TemporaryDirectory directory;
  KernelCache cache({directory / "c"});
  CHECK(apply(*cache.get_or_compile(adding(1))) == 1.5f);
  CHECK(apply(*cache.get_or_compile(adding(1))) == 1.5f);
  CHECK(cache.counters().compilations == 1);
  CHECK(cache.counters().memory_hits == 1);
  CHECK(cache.counters().compile_seconds > 0);

  KernelCache next({directory / "c"});
  CHECK(apply(*next.get_or_compile(adding(1))) == 1.5f);
  CHECK(next.counters().compilations == 0);
  CHECK(next.counters().disk_hits == 1);
}

TEST_CASE("the header comment of a source is no part of its identity") {
  need_compiler();
  KernelCache cache{DiskCacheOptions{}};
  KernelSpec spec = adding(1);
  const auto first = cache.get_or_compile(spec);
  spec.source = "// another header\n" + spec.key;
  spec.name = "another name";
  CHECK(cache.get_or_compile(spec) == first);
}

TEST_CASE("a change of compiler, options or source is a miss") {
  need_compiler();
  const TemporaryDirectory directory;
  const auto compile = [&](const std::string& cxx, int number) {
    const ScopedEnvironment environment{{"SINTER_CXX", cxx}};
    KernelCache cache({directory / "c"});
    cache.get_or_compile(adding(number));
    return cache.counters().compilations;
  };
  CHECK(compile("c++", 1) == 1);
  CHECK(compile("c++", 1) == 0);
  CHECK(compile("c++ -DX", 1) == 1);
  CHECK(compile("c++", 2) == 1);
  CHECK(compile("c++", 1) == 0);
}

TEST_CASE("a damaged entry is compiled again and replaced") {
  need_compiler();
  const TemporaryDirectory directory;
  KernelCache({directory / "c"}).get_or_compile(adding(1));
  for (const auto& entry : fs::directory_iterator(directory / "c"))
    fs::resize_file(entry, fs::file_size(entry) - 1);
  KernelCache cache({directory / "c"});
  CHECK(apply(*cache.get_or_compile(adding(1))) == 1.5f);
  CHECK(cache.counters().compilations == 1);
  CHECK(cache.disk().counters().rejected == 2);  // the kernel and the compiler's trial
  CHECK(KernelCache({directory / "c"}).get_or_compile(adding(1)));
}

TEST_CASE("a whole entry that cannot be loaded is dropped and compiled again") {
  need_compiler();
  const TemporaryDirectory directory;
  KernelCache({directory / "c"}).get_or_compile(adding(1));
  for (const auto& entry : fs::directory_iterator(directory / "c")) {
    const std::string file = read_text(entry.path().string());
    const auto decoded = decode_entry(file);
    REQUIRE(decoded);
    if (!decoded->key.starts_with("cpu kernel")) continue;
    directory.write("c/" + entry.path().filename().string(), encode_entry(decoded->key, "no object"));
  }
  KernelCache cache({directory / "c"});
  CHECK(apply(*cache.get_or_compile(adding(1))) == 1.5f);
  CHECK(cache.counters().compilations == 1);
  CHECK(cache.disk().counters().rejected == 0);
  KernelCache next({directory / "c"});
  next.get_or_compile(adding(1));
  CHECK(next.counters().compilations == 0);
}

TEST_CASE("32 threads that ask for one kernel get one compilation") {
  need_compiler();
  KernelCache cache{DiskCacheOptions{}};
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&] { right += apply(*cache.get_or_compile(adding(3))) == 3.5f; });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 32);
  CHECK(cache.counters().compilations == 1);
}

TEST_CASE("the error of a kernel reaches every thread that waits for it, and is not kept") {
  need_compiler();
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  KernelCache cache{DiskCacheOptions{}};
  KernelSpec broken = adding(1);
  broken.source = "nonsense;";
  std::vector<std::thread> threads;
  std::atomic<int> errors{0};
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&] {
      try {
        cache.get_or_compile(broken);
      } catch (const sinter::CompileError&) {
        ++errors;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(errors == 32);
  CHECK(apply(*cache.get_or_compile(adding(1))) == 1.5f);
}

TEST_CASE("many kernels are compiled together, in order, and the first error comes out") {
  need_compiler();
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  KernelCache cache{DiskCacheOptions{}};
  std::vector<KernelSpec> specs;
  for (int i = 0; i < 8; ++i) specs.push_back(adding(i % 6));
  const auto kernels = cache.get_or_compile(specs);
  REQUIRE(kernels.size() == 8);
  for (int i = 0; i < 8; ++i)
    CHECK(apply(*kernels[static_cast<std::size_t>(i)]) == static_cast<float>(i % 6) + 0.5f);
  CHECK(cache.counters().compilations == 6);

  specs[2] = {"second", "b", "broken_b;", "b"};
  specs[5] = {"first", "a", "broken_a;", "a"};
  CHECK_THROWS_WITH(cache.get_or_compile(specs), ContainsSubstring("kernel second"));
}

TEST_CASE("a kernel outlives the cache that made it") {
  need_compiler();
  std::shared_ptr<const LoadedKernel> kernel;
  {
    KernelCache cache{DiskCacheOptions{}};
    kernel = cache.get_or_compile(adding(4));
    cache.forget();
    CHECK(cache.get_or_compile(adding(4)) != kernel);
  }
  CHECK(apply(*kernel) == 4.5f);
}

TEST_CASE("two processes that compile one kernel at once both succeed") {
  need_compiler();
  const TemporaryDirectory directory;
  std::vector<pid_t> children;
  std::vector<std::thread> waiting;
  std::atomic<int> failures{0};
  for (int i = 0; i < 3; ++i)
    waiting.emplace_back([&] {
      failures += in_child([&] {
        KernelCache cache({directory / "c"});
        return apply(*cache.get_or_compile(adding(5))) == 5.5f ? 0 : 1;
      });
    });
  for (std::thread& thread : waiting) thread.join();
  CHECK(failures == 0);
  KernelCache cache({directory / "c"});
  cache.get_or_compile(adding(5));
  CHECK(cache.counters().compilations == 0);
}

TEST_CASE("a small kernel compiles in about a tenth of a second") {
  need_compiler();
  KernelCache cache{DiskCacheOptions{}};
  cache.compiler();
  double least = 10;
  for (int i = 0; i < 5 && least > 0.15; ++i) {
    const double before = cache.counters().compile_seconds;
    cache.get_or_compile(adding(10 + i));
    least = std::min(least, cache.counters().compile_seconds - before);
  }
  CHECK(least < 0.5);  // 0.05 s on an idle machine
}

TEST_CASE("architecture, version of the compiler and source are the identity of a CUDA kernel") {
  const TemporaryDirectory directory;
  FakeToolchain::Log log;
  const auto compilations = [&](const KernelSpec& spec, const std::string& version = "1") {
    KernelCache cache({directory / "c"}, std::make_unique<FakeToolchain>(log, version));
    cache.get_or_compile(spec);
    cache.get_or_compile(spec);
    return cache.counters().compilations;
  };
  CHECK(compilations(for_gpu("sm_90")) == 1);
  CHECK(compilations(for_gpu("sm_90")) == 0);
  CHECK(compilations(for_gpu("sm_90a")) == 1);
  CHECK(compilations(for_gpu("sm_90"), "2") == 1);
  KernelSpec other = for_gpu("sm_90");
  other.name = "another name";
  other.source = "// another header\ntext";
  other.device = 1;
  CHECK(compilations(other) == 0);
  other.key = "another text";
  CHECK(compilations(other) == 1);
}

TEST_CASE("kernels for two architectures live side by side in memory") {
  FakeToolchain::Log log;
  KernelCache cache(DiskCacheOptions{}, std::make_unique<FakeToolchain>(log));
  const auto first = cache.get_or_compile(for_gpu("sm_80"));
  CHECK(cache.get_or_compile(for_gpu("sm_90")) != first);
  CHECK(cache.get_or_compile(for_gpu("sm_80")) == first);
  CHECK(log.compilations == 2);
}

TEST_CASE("an entry that the driver refuses is dropped and compiled once more, then it is an error") {
  const TemporaryDirectory directory;
  FakeToolchain::Log log;
  const auto get = [&] {
    KernelCache cache({directory / "c"}, std::make_unique<FakeToolchain>(log));
    return cache.get_or_compile(for_gpu("sm_90"));
  };
  get();
  log = {.refusals = 1};
  CHECK(get());
  CHECK(log.compilations == 1);
  CHECK(log.loads == 2);
  log = {.refusals = 2};
  CHECK_THROWS_WITH(get(), ContainsSubstring("the driver refuses a kernel"));
  CHECK(log.compilations == 1);
  log = {};
  CHECK(get());
  CHECK(log.compilations == 1);  // what the driver refused was not kept
}
