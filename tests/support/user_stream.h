// A stream of the user's, as tests of GPUs hand it to StreamScope.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/catch.h"

namespace sinter::testing {

class UserStream {
 public:
  explicit UserStream(unsigned flags = cudaStreamNonBlocking) {
    REQUIRE(cudaStreamCreateWithFlags(&stream_, flags) == cudaSuccess);
  }
  UserStream(const UserStream&) = delete;
  UserStream& operator=(const UserStream&) = delete;
  ~UserStream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace sinter::testing
