// compiles
#include <sinter/dtype.h>
#include <sinter/error.h>
static_assert(sinter::promote(sinter::f16, sinter::bf16) == sinter::f32);
