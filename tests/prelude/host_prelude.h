// The device prelude as the host's compiler reads it in a kernel, in a namespace of its own.
#pragma once

namespace kernel {

// Each file uses those before it.
// clang-format off
#include "codegen/prelude/types.inc"
#include "codegen/prelude/host.inc"
#include "codegen/prelude/constants.inc"
#include "codegen/prelude/rounding.inc"
#include "codegen/prelude/compare.inc"
#include "codegen/prelude/integer.inc"
#include "codegen/prelude/division.inc"
#include "codegen/prelude/exp.inc"
#include "codegen/prelude/log.inc"
#include "codegen/prelude/trig.inc"
#include "codegen/prelude/arc.inc"
#include "codegen/prelude/hyperbolic.inc"
#include "codegen/prelude/erf.inc"
#include "codegen/prelude/pow.inc"
#include "codegen/prelude/cast.inc"
#include "codegen/prelude/random.inc"
#include "codegen/prelude/fold.inc"
#include "codegen/prelude/narrow.inc"
// clang-format on

}  // namespace kernel
