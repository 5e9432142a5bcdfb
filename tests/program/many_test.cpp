// Many small tensors, each by itself, of which a GPU takes those with kernels of one text in few launches.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// A graph in which each tensor of these lengths, by itself, becomes others; with whole numbers for it.
struct Many {
  std::string inputs, body, outputs;
  std::vector<ir::Array> arrays;

  void add(DType t, const std::vector<std::int64_t>& shape, std::string_view formula) {
    const auto i = arrays.size();
    arrays.push_back(whole_numbers(t, shape, static_cast<int>(i)));
    inputs += fmt::format("{}%x{}: {}[{}]", i ? ", " : "", i, name(t), fmt::join(shape, ", "));
    body += fmt::format(fmt::runtime(formula), fmt::arg("i", i), fmt::arg("n", 2 * i + 5));
    outputs += fmt::format("{}%y{}", i ? ", " : "", i);
  }
  ir::Graph graph() const {
    return ir::parse(fmt::format("graph @many({}) {{\n{}  return {}\n}}\n", inputs, body, outputs));
  }
  int launches(Numerics numerics = Numerics::standard) const { return on_gpu(numerics)->launches(); }
  std::shared_ptr<const runtime::Program> on_gpu(Numerics numerics = Numerics::standard) const {
    runtime::ProgramOptions options = in_mode(numerics);
    options.target = codegen::Target::cuda("sm_90a");
    return runtime::Program::build(graph(), options);
  }
};

constexpr std::string_view affine = "  %m{i} = mul(%x{i}, {n})\n  %y{i} = add(%m{i}, 3)\n";
/// How far each element is below its row's greatest.
constexpr std::string_view below =
    "  %m{i} = max(%x{i}, axes=[1], keepdims=true)\n  %y{i} = sub(%m{i}, %x{i})\n";

Many of_lengths(DType t, const std::vector<std::int64_t>& lengths) {
  Many many;
  for (std::int64_t n : lengths) many.add(t, {n}, affine);
  return many;
}

}  // namespace

TEST_CASE("tensors of many lengths share launches, each with numbers of its own") {
  // Of 4, 8 or 16 bytes a thread, with a last block that is full, or not, or the only one.
  const Many whole = of_lengths(f32, {4, 1024, 1028, 2048, 8, 4, 100, 5000, 1024, 12, 4096, 16, 20});
  const Many odd = of_lengths(f32, {7, 3, 257, 255, 253, 5, 3, 77, 9, 31, 263});
  for (const Many& many : {whole, odd}) {
    for (Numerics numerics : all_modes) CHECK(off_exact(many.graph(), many.arrays, numerics) == "");
    CHECK(many.launches() == 1);
    CHECK(many.launches(Numerics::strict) == 1);
  }
}

TEST_CASE("a tensor without elements takes part in no launch") {
  const Many many = of_lengths(f32, {7, 0, 9, 0});
  CHECK(off_exact(many.graph(), many.arrays) == "");
  CHECK(many.launches() == 1);
}

TEST_CASE("more tensors than one launch takes are spread evenly over several") {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 257; ++i) lengths.push_back(4 + i * 37 % 41 * 4);
  const Many many = of_lengths(f32, lengths);
  CHECK(off_exact(many.graph(), many.arrays) == "");
  // Two addresses, a length and two literals are 32 bytes; 113 of them with 114 numbers fit 4096.
  CHECK(many.launches() == 3);
}

TEST_CASE("kernels of other dtypes have launches of their own") {
  Many many;
  for (std::int64_t i = 0; i < 12; ++i)
    many.add(i % 3 == 0 ? f32 : i % 3 == 1 ? bf16 : int32, {8 + i * 64}, affine);
  CHECK(off_exact(many.graph(), many.arrays) == "");
  CHECK(many.launches() == 3);
}

TEST_CASE("rows of several tensors share a launch") {
  Many many;
  for (std::int64_t rows : {5, 64, 3, 33, 8, 2}) many.add(f32, {rows, 256}, below);
  CHECK(off_exact(many.graph(), many.arrays) == "");
  CHECK(many.launches() == 1);
}

TEST_CASE("what waits for another kernel of its text does not join it") {
  // Transposed in between, so that rows cannot stay in one kernel.
  constexpr std::string_view chain =
      "  %a{i} = max(%x{i}, axes=[1], keepdims=true)\n  %b{i} = sub(%a{i}, %x{i})\n"
      "  %c{i} = permute_dims(%b{i}, axes=[1, 0])\n  %d{i} = max(%c{i}, axes=[1], keepdims=true)\n"
      "  %e{i} = sub(%d{i}, %c{i})\n  %f{i} = permute_dims(%e{i}, axes=[1, 0])\n"
      "  %g{i} = max(%f{i}, axes=[1], keepdims=true)\n  %y{i} = sub(%g{i}, %f{i})\n";
  Many many;
  for (int i = 0; i < 2; ++i) many.add(f32, {64, 64}, chain);
  CHECK(off_exact(many.graph(), many.arrays) == "");
  const auto program = many.on_gpu();
  CHECK(program->partition().groups.size() == 6);
  CHECK(program->launches() == 3);
  // All that a launch reads and writes is there at once: two tensors from the one before, two for the next,
  // and the two outputs beside.
  const std::string json = program->explain_json();
  CHECK_THAT(json, Catch::Matchers::ContainsSubstring("\"launches\": 3,"));
  CHECK_THAT(json, Catch::Matchers::ContainsSubstring("\"peak_bytes\": " + std::to_string(6 * 64 * 64 * 4)));
  CHECK_THAT(program->explain(), Catch::Matchers::ContainsSubstring("launched with 1 other, from k0"));
}
