// Exchange through DLPack.
#include "sinter/dlpack.h"

#include <dlpack/dlpack.h>

#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("a tensor goes out through DLPack with its memory and layout") {
  Tensor x = permute_dims(floats({1, 2, 3, 4, 5, 6}, {2, 3}).to(Device("cpu")), {1, 0});
  const void* data = x.data();
  DLManagedTensor* managed = to_dlpack(x);
  x = Tensor();  // the exported tensor keeps the memory
  CHECK(managed->dl_tensor.data == data);
  CHECK(managed->dl_tensor.ndim == 2);
  CHECK(managed->dl_tensor.shape[0] == 3);
  CHECK(managed->dl_tensor.strides[0] == 1);
  CHECK(managed->dl_tensor.strides[1] == 3);
  CHECK(managed->dl_tensor.dtype.code == kDLFloat);
  CHECK(managed->dl_tensor.dtype.bits == 32);
  CHECK(managed->dl_tensor.device.device_type == kDLCPU);
  CHECK(static_cast<float*>(managed->dl_tensor.data)[1] == 2);
  managed->deleter(managed);
}

TEST_CASE("every dtype goes out and comes in") {
  for (const DType t : all_dtypes) {
    const Tensor x = from_dlpack(to_dlpack(ones({2, 2}, t)));
    CHECK(x.dtype() == t);
    CHECK(numbers(x) == std::vector<double>{1, 1, 1, 1});
  }
}

namespace {

struct Foreign {
  float values[4] = {1, 2, 3, 4};
  std::int64_t shape[1] = {2};
  int deleted = 0;
  DLManagedTensor managed{};

  Foreign() {
    managed.dl_tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 4};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

}  // namespace

TEST_CASE("foreign memory comes in with its offset and is given back once") {
  Foreign foreign;
  {
    const Tensor x = from_dlpack(&foreign.managed);
    CHECK(x.data() == foreign.values + 1);
    CHECK(numbers(x) == std::vector<double>{2, 3});
    CHECK(foreign.deleted == 0);
  }
  CHECK(foreign.deleted == 1);
}

TEST_CASE("what cannot be taken stays the caller's") {
  Foreign foreign;
  foreign.managed.dl_tensor.device.device_type = kDLMetal;
  CHECK_THROWS_AS(from_dlpack(&foreign.managed), DeviceError);
  foreign.managed.dl_tensor.device.device_type = kDLCPU;
  foreign.managed.dl_tensor.dtype.lanes = 4;
  CHECK_THROWS_AS(from_dlpack(&foreign.managed), DTypeError);
  CHECK(foreign.deleted == 0);
  CHECK_THROWS_AS(from_dlpack(nullptr), ValueError);
}
