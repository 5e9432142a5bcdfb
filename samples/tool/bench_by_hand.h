// The hand-written form of a workload, timed beside its kernels. On the CPU only.
#pragma once

#include <sinter/sinter.h>

#include <vector>

#include "samples/bench/stopwatch.h"
#include "samples/tool/subject.h"

namespace tool {

/// Times the subject's hand-written form for about `seconds`. Throws sinter::InternalError if its results are
/// not the outputs.
bench::Timing time_by_hand(const Subject& subject, const std::vector<sinter::Tensor>& inputs,
                           const std::vector<sinter::Tensor>& outputs, double seconds,
                           bench::Stopwatch& stopwatch);

}  // namespace tool
