// A formula that no library has: a damped oscillation, scaled to unit energy per row. It fuses like the
// famous ones; and what becomes of it on a GPU can be read without one.
//
//   own_formula [rows] [columns]
#include <fstream>

#include "compare.h"

using sinter::f32;
using sinter::Tensor;

int main(int argc, char** argv) {
  const auto oscillation = [](Tensor t) {
    const Tensor wave = exp(-0.25f * abs(t)) * cos(6.2831853f * t);
    const Tensor energy = sum(wave * wave, {.axes = {-1}, .keepdims = true});
    return wave * rsqrt(energy + 1e-6f);
  };
  const Tensor t =
      4.0f * sinter::randn({length_argument(argc, argv, 1, 1024), length_argument(argc, argv, 2, 4096)});
  const bool agrees = compare("oscillation", oscillation, t, 1e-5);

  // The same for every number of rows, and for a GPU that need not be here.
  const auto compiled = sinter::compile(oscillation, {.name = "oscillation"});
  const sinter::Program on_gpu =
      compiled.lower(sinter::TensorSpec{f32, {"M", 4096}}, sinter::Target{"sm_90a"});
  std::ofstream("oscillation.cu") << on_gpu.source();
  std::printf("\nWhat it would be on sm_90a, in oscillation.cu:\n%s", on_gpu.explain().c_str());
  return agrees && on_gpu.launches() == 1 ? 0 : 1;
}
