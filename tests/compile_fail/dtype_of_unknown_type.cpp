// error: incomplete type .*dtype_of_type
#include <sinter/dtype.h>
constexpr sinter::DType t = sinter::dtype_of<char*>;
