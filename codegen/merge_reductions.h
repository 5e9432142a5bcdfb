// Reductions that belong together. r2 = sum of f(x, r1) over the axes that r1 folds can be folded along with
// r1, in one walk and one exchange, if f(x, to) = f(x, from) h(from, to): what was added up with one value of
// r1 is then rescaled to another. That holds for terms e^(k (x - r1)), where r1 is the maximum or minimum of
// x and k is the same for the whole row: of softmax, with a temperature or a mask, of log-sum-exp, of cross
// entropy, and of any formula that has such terms.
//
// A second rule is of the sum of (x - mean)^2, where the mean is r1 / n, the sum of the row by its length. Of
// two parts of a row, n1 and n2 long, it is that of each plus n1 (mean1 - mean)^2 + n2 (mean2 - mean)^2
// (Chan, Golub and LeVeque 1979).
//
// Nothing but the values of the kernel IR decides.
#pragma once

#include "codegen/kernel.h"

namespace sinter::codegen {

/// Gives every reduction that can be folded along with another its KernelValue::join, and says in
/// Kernel::apart why others that need a reduction's result cannot. Schedules decide which joins are used.
///
/// Terms must be such that running values overflow nowhere but where the final ones do: r1 bounds x, and
/// factors of the terms are small whole numbers, masks and literals, not loads, which may hold anything.
void merge_reductions(Kernel& kernel);

}  // namespace sinter::codegen
