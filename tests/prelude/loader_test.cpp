// Which part of the prelude a kernel gets.
#include <algorithm>
#include <string>

#include "codegen/prelude.h"
#include "tests/catch.h"

namespace sinter::codegen {
namespace {

using Catch::Matchers::ContainsSubstring;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST_CASE("a kernel that calls nothing gets an empty prelude") {
  CHECK(prelude("x + y", Backend::cpu) == "namespace sinter {\n\n}  // namespace sinter\n");
}

TEST_CASE("a kernel gets the functions it calls and what they need, and no others") {
  const std::string text = prelude("out[i] = tanh(in0[i]);", Backend::cpu);
  CHECK_THAT(text, ContainsSubstring("f32 tanh(f32 x)") && ContainsSubstring("f32 half_expm1(f32 x)") &&
                       ContainsSubstring("#define SN_INLINE") && ContainsSubstring("typedef float f32;"));
  CHECK_FALSE(contains(text, " log("));
  CHECK_FALSE(contains(text, " expm1("));
}

TEST_CASE("a kernel gets every overload of a function") {
  const std::string text = prelude("floor_divide(a, b)", Backend::cpu);
  CHECK_THAT(text, ContainsSubstring("f32 floor_divide(f32 a") &&
                       ContainsSubstring("f64 floor_divide(f64 a") &&
                       ContainsSubstring("T floor_divide(T a"));
}

TEST_CASE("names in comments and numbers are not calls") {
  CHECK_FALSE(contains(prelude("// tanh(x)\nx + 0x1p3f", Backend::cpu), "tanh"));
}

TEST_CASE("everything is defined before it is used") {
  const std::string text = prelude("pow(erfc(x), sin(x)) + to_bf16(y)", Backend::cpu);
  for (const auto& [user, used] : {std::pair{"f32 pow(f32 x", "two_floats precise_log("},
                                   {"two_floats precise_log(", "binary_parts split_binary("},
                                   {"f32 erfc(f32 x)", "exponential bounded_exp("},
                                   {"bf16 to_bf16(f64 x)", "f32 round_to_odd("}}) {
    INFO(user << " uses " << used);
    REQUIRE(contains(text, user));
    REQUIRE(contains(text, used));
    CHECK(text.find(used) < text.find(user));
  }
}

TEST_CASE("a CUDA kernel gets the primitives of both compilers, a CPU kernel only those of the host") {
  const std::string cuda = prelude("fma(a, b, c)", Backend::cuda),
                    cpu = prelude("fma(a, b, c)", Backend::cpu);
  CHECK_THAT(cuda, ContainsSubstring("#ifdef __CUDACC__") && ContainsSubstring("__fmaf_rn") &&
                       ContainsSubstring("__builtin_fmaf"));
  CHECK_FALSE(contains(cpu, "__fmaf_rn"));
}

TEST_CASE("types, templates of types and macros are found by their names") {
  CHECK_THAT(prelude("vec<f32, 4> x;", Backend::cuda), ContainsSubstring("struct vec {"));
  CHECK_THAT(prelude("bf16 x;", Backend::cpu), ContainsSubstring("enum class bf16 :"));
  CHECK_THAT(prelude("SN_RARELY(x)", Backend::cpu), ContainsSubstring("#define SN_RARELY(condition)"));
}

TEST_CASE("no definition is cut in two by a blank line") {
  for (std::string_view name : prelude_names(Backend::cuda)) {
    const std::string text = prelude(name, Backend::cuda);
    INFO(name << "\n" << text);
    CHECK(std::count(text.begin(), text.end(), '{') == std::count(text.begin(), text.end(), '}'));
  }
}

}  // namespace
}  // namespace sinter::codegen
