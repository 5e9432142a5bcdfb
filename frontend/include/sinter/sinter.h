// All of sinter's public interface.
#pragma once

#include "sinter/compile.h"
#include "sinter/composites.h"
#include "sinter/create.h"
#include "sinter/device.h"
#include "sinter/dlpack.h"
#include "sinter/dtype.h"
#include "sinter/error.h"
#include "sinter/functions.h"
#include "sinter/npy.h"
#include "sinter/numerics.h"
#include "sinter/program.h"
#include "sinter/tensor.h"
#include "sinter/var.h"
#include "sinter/version.h"
