// Compiled functions: what they take and return, what makes a new program, and what they close over.
#include <array>
#include <memory>

#include "ir/base/log.h"
#include "tests/catch.h"
#include "tests/frontend/environment.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

Tensor doubled(Tensor x) {
  return 2.0 * x;
}

enum class Direction : std::uint8_t { up, down };

}  // namespace

TEST_CASE("a compiled function gives what the plain one gives") {
  const auto f = compile([](Tensor x) { return 0.5 * x * (1.0 + tanh(x)); });
  CHECK(near(f(floats({-1, 0, 1})), {-0.119202922, 0, 0.880797078}));
}

TEST_CASE("functions, function objects and generic lambdas can be compiled") {
  const Tensor x = floats({1, 2});
  CHECK(numbers(compile(doubled)(x)) == std::vector<double>{2, 4});
  CHECK(numbers(compile(&doubled)(x)) == std::vector<double>{2, 4});
  CHECK(numbers(compile(std::function<Tensor(const Tensor&)>(doubled))(x)) == std::vector<double>{2, 4});
  const auto generic = compile([](auto a, auto b) { return a * b; });
  CHECK(numbers(generic(x, 3)) == std::vector<double>{3, 6});
  CHECK(numbers(generic(x, x)) == std::vector<double>{1, 4});
  CHECK(numbers(generic(2.5, x)) == std::vector<double>{2.5, 5});
  CHECK(generic.programs().size() == 3);
}

TEST_CASE("results are a tensor, or a vector, tuple, pair or array of them") {
  const Tensor x = floats({1, 2});
  const auto [twice, total] = compile([](Tensor x) { return std::tuple(x * 2.0, sum(x)); })(x);
  CHECK(numbers(twice) == std::vector<double>{2, 4});
  CHECK(total.item<float>() == 3);
  CHECK(compile([](Tensor x) { return std::pair(x, -x); })(x).second.to_vector<float>()[1] == -2);
  CHECK(compile([](Tensor x) {
          return std::array{x + 1.0, x + 2.0, x + 3.0};
        })(x)[2]
            .to_vector<float>()[0] == 4);
  CHECK(compile([](Tensor x) { return std::vector<Tensor>(5, x * 3.0); })(x).size() == 5);
  CHECK(compile([](Tensor) { return std::vector<Tensor>(); })(x).empty());
}

TEST_CASE("two equal results are two tensors with the same values") {
  const auto [a, b] = compile([](Tensor x) { return std::pair(x * 2.0, x * 2.0); })(floats({1, 2}));
  CHECK(same_bits(a, b));
}

TEST_CASE("an argument, a constant or a view can be the result") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  CHECK(same_bits(compile([](Tensor x) { return x; })(x), x));
  CHECK(numbers(compile([](Tensor x) {
          return permute_dims(x, {1, 0});
        })(x)) == std::vector<double>{1, 3, 2, 4});
  CHECK(numbers(compile([](Tensor) { return full({2}, 7.0); })(x)) == std::vector<double>{7, 7});
  CHECK(numbers(compile([](Tensor) { return arange(3); })(x)) == std::vector<double>{0, 1, 2});
}

TEST_CASE("vectors of tensors are arguments, each with its own signature") {
  const auto total = compile([](const std::vector<Tensor>& xs, Tensor start) {
    for (const Tensor& x : xs) start = start + sum(x);
    return start;
  });
  CHECK(total(std::vector<Tensor>{floats({1, 2}), floats({3})}, zeros({})).item<float>() == 6);
  CHECK(total(std::vector<Tensor>{}, ones({})).item<float>() == 1);
  CHECK(total(std::vector<Tensor>{floats({5, 5}), floats({5})}, zeros({})).item<float>() == 15);
  CHECK(total.programs().size() == 2);
}

TEST_CASE("a parameter of number type is guarded by value, a number for a Tensor is handed in") {
  const auto power = compile([](Tensor x, int n) {
    Tensor y = x;
    for (int i = 1; i < n; ++i) y = y * x;
    return y;
  });
  const Tensor x = floats({2, 3});
  CHECK(numbers(power(x, 2)) == std::vector<double>{4, 9});
  CHECK(numbers(power(x, 3)) == std::vector<double>{8, 27});
  CHECK(numbers(power(x, 2)) == std::vector<double>{4, 9});
  CHECK(power.programs().size() == 2);

  const auto scaled = compile([](Tensor x, Tensor s) { return x * s; });
  CHECK(numbers(scaled(x, 2.0)) == std::vector<double>{4, 6});
  CHECK(numbers(scaled(x, 5.0)) == std::vector<double>{10, 15});
  CHECK(scaled.programs().size() == 1);
  CHECK(scaled(x, 2.0).dtype() == f32);
  CHECK(scaled(ints({1}), 2).dtype() == int64);
  CHECK(scaled(ones({1}, boolean), 2.0f).dtype() == f32);

  const auto directed = compile([](Tensor x, Direction d) { return d == Direction::up ? x + 1.0 : x - 1.0; });
  CHECK(numbers(directed(x, Direction::up)) == std::vector<double>{3, 4});
  CHECK(numbers(directed(x, Direction::down)) == std::vector<double>{1, 2});
}

TEST_CASE("an undefined tensor is an argument that the function can test for") {
  const auto biased = compile([](Tensor x, Tensor bias) { return bias.defined() ? x + bias : x * 1.0; });
  CHECK(numbers(biased(floats({1}), Tensor())) == std::vector<double>{1});
  CHECK(numbers(biased(floats({1}), floats({2}))) == std::vector<double>{3});
}

TEST_CASE("there is one program per signature of dtypes, shapes and layouts") {
  const auto f = compile([](Tensor x) { return exp(x) + 1.0; });
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  f(x);
  f(floats({6, 5, 4, 3, 2, 1}, {2, 3}));
  CHECK(f.programs().size() == 1);
  f(x.astype(f64));
  CHECK(f.programs().size() == 2);
  f(reshape(x, {3, 2}));
  CHECK(f.programs().size() == 3);
  f(permute_dims(x, {1, 0}));
  CHECK(f.programs().size() == 4);
}

TEST_CASE("views of every layout and alignment give right results") {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25f;
  const Tensor x = from_vector(values);
  const auto f = compile([](Tensor x) { return x * 2.0 + sum(x, {.axes = -1, .keepdims = true}); });
  const auto check = [&](const Tensor& view) {
    INFO(view.str());
    const std::vector<double> v = numbers(view);
    const std::size_t row = static_cast<std::size_t>(view.length(-1));
    std::vector<double> expected;
    for (std::size_t i = 0; i < v.size(); ++i) {
      double total = 0;
      for (std::size_t k = i / row * row; k < i / row * row + row; ++k) total += v[k];
      expected.push_back(2 * v[i] + total);
    }
    CHECK(near(f(view), expected));
  };
  check(slice(x, {{0, 32}}));
  check(slice(x, {{1, 33}}));  // another alignment, the same shape
  check(slice(x, {{2, 34}}));
  check(slice(x, {{{}, {}, 2}}));
  check(flip(slice(x, {{0, 32}})));
  check(broadcast_to(slice(x, {{3, 4}}), {32}));
  check(permute_dims(reshape(x, {8, 8}), {1, 0}));
  check(flip(reshape(x, {4, 4, 4}), {0, 2}));
  check(slice(reshape(x, {8, 8}), {{1, 7, 2}, {6, 1, -2}}));
  check(from_device(const_cast<void*>(x.data()), {5, 6}, {1, 2}, f32));  // rows that overlap
}

TEST_CASE("tensors that the function closes over are bound when it is captured") {
  Tensor weight = floats({1, 2});
  const auto f = compile([&](Tensor x) { return x * weight + weight; });
  CHECK(numbers(f(floats({10, 10}))) == std::vector<double>{11, 22});
  weight = floats({5, 5});
  CHECK(numbers(f(floats({10, 10}))) == std::vector<double>{11, 22});
}

TEST_CASE("a Var is read at every call, and a tensor of another kind makes a new program") {
  Var weight(floats({1, 2}));
  const auto f = compile([weight](Tensor x) { return x * weight + weight; });
  const Tensor x = floats({10, 10});
  CHECK(numbers(f(x)) == std::vector<double>{11, 22});
  weight = floats({3, 4});
  CHECK(numbers(f(x)) == std::vector<double>{33, 44});
  CHECK(f.programs().size() == 1);
  weight = floats({7});
  CHECK(numbers(f(x)) == std::vector<double>{77, 77});
  CHECK(f.programs().size() == 2);
  weight = floats({1, 1});
  CHECK(numbers(f(x)) == std::vector<double>{11, 11});
  CHECK(f.programs().size() == 2);
  const Var other(floats({0, 0}));
  weight = other;  // the value, not the cell
  CHECK(numbers(f(x)) == std::vector<double>{0, 0});
  weight = floats({1, 1});
  CHECK(numbers(other.read()) == std::vector<double>{0, 0});
}

TEST_CASE("a Var cannot be assigned while a function is captured") {
  Var cell(floats({1}));
  const auto f = compile([&](Tensor x) {
    cell = x;
    return x;
  });
  CHECK_THROWS_WITH(f(floats({2})), ContainsSubstring("return the new value and assign it outside"));
}

TEST_CASE("a compiled function and its programs can be used after they were moved from") {
  auto f = compile([](Tensor x) { return x + 1.0; }, {.name = "successor"});
  CHECK(numbers(f(floats({1}))) == std::vector<double>{2});
  auto g = std::move(f);
  CHECK(numbers(f(floats({2}))) == std::vector<double>{3});
  CHECK(numbers(g(floats({3}))) == std::vector<double>{4});
  CHECK(f.explain() == g.explain());
  f = std::move(g);
  CHECK(g.programs().size() == 1);
  Program p = f.programs()[0];
  const Program q = std::move(p);
  CHECK(p.launches() == q.launches());
  CHECK(p.source() == q.source());
}

TEST_CASE("a compiled function called by another becomes part of it") {
  int captures = 0;
  const auto inner = compile([&](Tensor x, Tensor s) {
    ++captures;
    return exp(x) * s;
  });
  const auto outer = compile([&](Tensor x) { return inner(x, 2.0) + inner(x, 3.0); });
  CHECK(near(outer(floats({0, 1})), {5, 5 * 2.718281828}));
  CHECK(captures == 2);
  CHECK(inner.programs().empty());
  CHECK(outer.programs().size() == 1);
}

TEST_CASE("a tensor does not leave its capture but as a result") {
  Tensor stolen;
  const auto f = compile([&](Tensor x) {
    stolen = x + 1.0;
    return stolen * 2.0;
  });
  CHECK(numbers(f(floats({1}))) == std::vector<double>{4});
  CHECK_THROWS_WITH(stolen + 1.0, ContainsSubstring("captured"));
  const auto g = compile([&](Tensor x) { return x + stolen; });
  CHECK_THROWS_WITH(g(floats({1})), ContainsSubstring("leaves a compiled function only as its result"));
}

TEST_CASE("an exception passes through and leaves no capture open") {
  bool fails = true;
  const auto f = compile([&](Tensor x) {
    if (fails) throw std::runtime_error("mine");
    return x + 1.0;
  });
  CHECK_THROWS_WITH(f(floats({1})), "mine");
  CHECK(numbers(floats({1}) + floats({2})) == std::vector<double>{3});  // runs at once: nothing is recording
  fails = false;
  CHECK(numbers(f(floats({1}))) == std::vector<double>{2});
}

TEST_CASE("the value of a tensor cannot be asked for during capture") {
  const Tensor x = floats({1});
  const auto ask = [&](auto question) {
    const auto f = compile([=](Tensor x) {
      question(x);
      return x;
    });
    CHECK_THROWS_AS(f(x), UnsupportedError);
  };
  ask([](Tensor x) { return bool(sum(x) > 0); });
  ask([](Tensor x) { return sum(x).item<float>(); });
  ask([](Tensor x) { return x.to_vector<float>(); });
  ask([](Tensor x) { return x.data(); });
  ask([](Tensor x) { return x.strides(); });
}

TEST_CASE("results outlive the function and do not keep its graph") {
  const auto alive = std::make_shared<int>(0);
  Tensor y;
  {
    const auto f = compile([alive](Tensor x) { return x + 1.0; });
    y = f(floats({1}));
    CHECK(alive.use_count() > 1);
  }
  CHECK(alive.use_count() == 1);
  CHECK(numbers(y) == std::vector<double>{2});
}

TEST_CASE("SINTER_CHECK=1 finds a function that does something else at the next call") {
  const Environment check("SINTER_CHECK", "1");
  int calls = 0;
  const auto fickle = compile([&](Tensor x) { return ++calls < 3 ? x + 1.0 : x + 2.0; });
  CHECK_NOTHROW(fickle(floats({1})));  // captured, and captured again
  CHECK_THROWS_WITH(fickle(floats({1})), ContainsSubstring("does not do the same at every call"));

  Tensor weight = floats({1});
  const auto closed = compile([&](Tensor x) { return x + weight; });
  CHECK_NOTHROW(closed(floats({1})));
  weight = floats({1});
  CHECK_NOTHROW(closed(floats({1})));  // the same elements
  weight = floats({2});
  CHECK_THROWS_WITH(closed(floats({1})), ContainsSubstring("hold it in a Var"));
}

TEST_CASE("a compiled function may call itself, but not without an end") {
  using Function = Compiled<std::function<Tensor(Tensor, int)>>;
  std::shared_ptr<Function> f;
  const auto doubled_n_times = [&](Tensor x, int n) { return n == 0 ? x : (*f)(2.0 * x, n - 1); };
  f = std::make_shared<Function>(doubled_n_times, CompileOptions{.name = "doublings"});
  CHECK(numbers((*f)(floats({1, 3}), 4)) == std::vector<double>{16, 48});
  CHECK(numbers((*f)(floats({1}), 100)) == std::vector<double>{0x1p100});
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH((*f)(floats({1}), -1),
                      ContainsSubstring("doublings: compiled functions call each other") &&
                          ContainsSubstring("without an end"));
  CHECK(numbers((*f)(floats({1, 3}), 5)) == std::vector<double>{32, 96});

  std::shared_ptr<Function> lowered;
  const auto lowers_itself = [&](Tensor x, int n) {
    lowered->lower(TensorSpec{f32, {2}}, n);
    return x;
  };
  lowered = std::make_shared<Function>(lowers_itself, CompileOptions{});
  CHECK_THROWS_AS((*lowered)(floats({1, 2}), 1), UnsupportedError);
}

TEST_CASE("SINTER_LOG=recompiles says why a new program was made") {
  const Environment log("SINTER_LOG", "recompiles,guards");
  std::string lines;
  const auto before = set_log_sink([&](std::string_view line) { lines += std::string(line) + "\n"; });
  Var cell(floats({1}));
  const auto f = compile([=](Tensor x, int n) { return x * n + cell; }, {.name = "scale"});
  f(floats({1, 2}), 3);
  CHECK_THAT(lines, ContainsSubstring("scale: made for") && ContainsSubstring("argument 1: the number 3"));
  lines.clear();
  f(floats({1, 2}), 4);
  CHECK_THAT(lines, ContainsSubstring("argument 1: the number 4, was the number 3"));
  lines.clear();
  cell = floats({1, 1});
  f(floats({1, 2}), 4);
  CHECK_THAT(lines, ContainsSubstring("a Var holds f32[2] now"));
  set_log_sink(before);
}
