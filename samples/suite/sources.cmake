# The suite of workloads, for the tool and for the tests that look at its kernels.
set(SINTER_SUITE_SOURCES
  ${PROJECT_SOURCE_DIR}/samples/suite/elementwise.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/layouts.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/norm_backward.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/optimizers.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/parameters.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/products.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/rows.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/sums.cpp
  ${PROJECT_SOURCE_DIR}/samples/suite/workloads.cpp
)
