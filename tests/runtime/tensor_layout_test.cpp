#include "runtime/tensor_layout.h"

#include "tests/catch.h"

using namespace sinter;
using sinter::runtime::TensorLayout;
using Strides = std::vector<std::int64_t>;

TEST_CASE("without strides a layout is in row-major order") {
  CHECK(TensorLayout::make(f32, {2, 3, 4})->strides() == Strides{12, 4, 1});
  CHECK(TensorLayout::make(f32, {})->strides().empty());
  CHECK(TensorLayout::make(f32, {2, 0, 4})->strides() == Strides{4, 4, 1});
  CHECK(TensorLayout::make(f32, {2, ir::Dim::symbol("M")})->strides().empty());
}

TEST_CASE("strides that address nothing are those of row-major order") {
  CHECK(TensorLayout::make(f32, {1, 3, 1}, {77, 1, -5})->strides() == Strides{3, 1, 1});
  CHECK(TensorLayout::make(f32, {2, 1, 3}, {8, 9, 2})->strides() == Strides{8, 6, 2});
  CHECK(TensorLayout::make(f32, {2, 0}, {7, 7})->strides() == Strides{1, 1});
}

TEST_CASE("layouts are equal if dtype, lengths and strides are") {
  const auto layout = TensorLayout::make(f32, {2, 3}, {3, 1});
  CHECK(*layout == *layout);
  CHECK(*layout == *TensorLayout::make(f32, {2, 3}));
  CHECK(layout->hash() == TensorLayout::make(f32, {2, 3})->hash());
  CHECK(!(*layout == *TensorLayout::make(int32, {2, 3})));
  CHECK(!(*layout == *TensorLayout::make(f32, {3, 2})));
  CHECK(!(*layout == *TensorLayout::make(f32, {2, 3}, {1, 2})));
  CHECK(!(*layout == *TensorLayout::make(f32, {2, 3, 1})));
}
