// Which kernels ask a GPU's last-level cache to keep what they load longer than what they store.
#include "codegen/cache_policy.h"

#include "codegen/candidates.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

const Target h100 = Target::cuda("sm_90a");

bool outlasting(const std::string& inputs, const std::string& body, const Target& target = h100) {
  return schedule_of(kernel_of(inputs, body), target).outlasting;
}

std::string text(const std::string& inputs, const std::string& body) {
  return source_of(kernel_of(inputs, body), h100).text;
}

bool has(const std::string& where, const std::string& what) {
  return where.find(what) != std::string::npos;
}

const std::string normalized =
    "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], keepdims=true))";

}  // namespace

TEST_CASE("loads outlast stores where several caches full are moved") {
  CHECK(outlasting("%x: f32[16384, 4096])", "return neg(%x)"));
  CHECK_FALSE(outlasting("%x: f32[4096, 4096])", "return neg(%x)"));  // 128 MiB, to a cache of 50
  CHECK(outlasting("%x: f32[8192, 4096])", "return neg(%x)"));
  CHECK_FALSE(outlasting("%x: f32[M, 4096])", "return neg(%x)"));
}

TEST_CASE("loads outlast stores where a fourth of what is read is written") {
  CHECK_FALSE(outlasting("%x: f32[16384, 16384])", "return sum(%x, axes=[1])"));
  CHECK_FALSE(outlasting("%x: f32[16384, 16384])", "return sum(%x, axes=[0])"));
  CHECK(outlasting("%x: f32[16384, 16384])", "return cast(%x, dtype=int8)"));
  CHECK_FALSE(outlasting("%x: f64[16384, 16384])", "return cast(%x, dtype=int8)"));
}

TEST_CASE("what is known of the cache is of one architecture") {
  for (const std::string& arch : known_architectures()) {
    INFO(arch);
    CHECK(outlasting("%x: f32[16384, 16384])", "return neg(%x)", Target::cuda(arch)) ==
          arch.starts_with("sm_90"));
  }
  CHECK_FALSE(outlasting("%x: f32[16384, 16384])", "return neg(%x)", Target::cpu()));
}

TEST_CASE("loads do not outlast stores where blocks wait for each other over a row") {
  CHECK(outlasting("%x: f32[16384, 16384])", normalized));
  CHECK(outlasting("%x: f32[4096, 65536])", normalized));         // a cluster, and later rows on their way
  CHECK_FALSE(outlasting("%x: f32[4096, 65537])", normalized));   // that begin anywhere
  CHECK_FALSE(outlasting("%x: f32[2048, 262144])", normalized));  // pieces
}

TEST_CASE("every kind of load is printed so") {
  const std::string direct = text("%x: bf16[16384, 16384])", "return neg(%x)");
  CHECK(has(direct, "load_vec_outlasting<8, 8>(in0"));
  CHECK_FALSE(has(direct, "load_vec<"));
  const std::string turned =
      text("%x: f32[16384, 16384], %y: f32[16384, 16384])", "return add(%x, permute_dims(%y, axes=[1, 0]))");
  CHECK(has(turned, "load_vec_outlasting<4, 4>(in0"));
  CHECK(has(turned, "load_vec_outlasting<4, 4>(in1"));
  const std::string copied = text("%x: f32[16384, 16384])", normalized);
  CHECK(has(copied, "bulk_load_outlasting("));
  CHECK_FALSE(has(copied, "load_vec_outlasting"));  // not what lies in shared memory
  const std::string ahead =
      text("%x: f32[8192, 32768], %w: f32[32768])",
           "%s = sum(mul(%x, %x), axes=[1], keepdims=true)\n  return mul(mul(%x, %s), %w)");
  CHECK(has(ahead, "bulk_prefetch_outlasting("));
  CHECK(has(text("%x: f32[4096, 4096])", "return neg(%x)"), "load_vec<4, 4>(in0"));
}

TEST_CASE("candidates have the policy of their own schedules") {
  const Kernel k = kernel_of("%x: f32[4096, 65536])", normalized);
  const DeviceDescription& device = describe(h100);
  for (const Schedule& s : candidates(k, choose_schedule(k, device), device)) {
    INFO(s.str());
    CHECK(s.outlasting == loads_outlast_stores(k, s, device));
  }
}
