# The simulator of CUDA, its tests, and the tests of others that it runs in the GPU's place. The instrumentation
# that it listens to is g++'s, and its fibers know one processor.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  return()
endif()

# Linked to every kernel that is run, and not instrumented itself.
add_library(cuda_on_cpu_kernel_side OBJECT cuda_on_cpu/kernel_side.cpp)
target_include_directories(cuda_on_cpu_kernel_side PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_features(cuda_on_cpu_kernel_side PRIVATE cxx_std_20)
target_compile_options(cuda_on_cpu_kernel_side PRIVATE -fPIC -fvisibility=hidden -fno-sanitize=all -fno-exceptions)

add_library(sinter_cuda_on_cpu STATIC
  cuda_on_cpu/arrivals.cpp
  cuda_on_cpu/bulk_copies.cpp
  cuda_on_cpu/coverage.cpp
  cuda_on_cpu/fiber.cpp
  cuda_on_cpu/kernel.cpp
  cuda_on_cpu/launch.cpp
  cuda_on_cpu/memory.cpp
  cuda_on_cpu/run_program.cpp
  cuda_on_cpu/runner.cpp
  cuda_on_cpu/runner_calls.cpp
)
target_link_libraries(sinter_cuda_on_cpu PUBLIC sinter_testing)
target_precompile_headers(sinter_cuda_on_cpu REUSE_FROM sinter_testing)
add_dependencies(sinter_cuda_on_cpu cuda_on_cpu_kernel_side)
target_compile_definitions(sinter_cuda_on_cpu PRIVATE
  SINTER_TEST_CXX="${CMAKE_CXX_COMPILER}" SINTER_TEST_CXX_VERSION="${CMAKE_CXX_COMPILER_VERSION}"
  SINTER_KERNEL_SIDE="$<TARGET_OBJECTS:cuda_on_cpu_kernel_side>"
  SINTER_SIMULATOR_CACHE="${PROJECT_BINARY_DIR}/tests/cuda_on_cpu_cache")

# Its own tests, and those of programs, which it runs in the GPU's place.
sinter_add_tests(cuda_on_cpu SOURCES
  cuda_on_cpu/candidates_test.cpp
  cuda_on_cpu/dtypes_test.cpp
  cuda_on_cpu/faults_test.cpp
  cuda_on_cpu/faults_between_blocks_test.cpp
  cuda_on_cpu/messages_test.cpp
  cuda_on_cpu/places_test.cpp
  cuda_on_cpu/planted.cpp
  cuda_on_cpu/random_programs_test.cpp
  cuda_on_cpu/text_test.cpp
  cuda_on_cpu/tiles_test.cpp
  cuda_on_cpu/use_simulator.cpp
  program/across_test.cpp
  program/gathers_test.cpp
  program/parts_test.cpp
  program/joined_reductions_test.cpp
  program/layouts_test.cpp
  program/lengths_test.cpp
  program/long_rows_test.cpp
  program/many_test.cpp
  program/narrow_formulas_test.cpp
  program/odd_rows_test.cpp
  program/odd_views_test.cpp
  program/ops_test.cpp
  program/products_test.cpp
  program/random_joins_test.cpp
  program/random_shapes_test.cpp
  program/reductions_test.cpp
  program/scatter_test.cpp
  program/split_test.cpp
)
target_link_libraries(test_cuda_on_cpu PRIVATE sinter_cuda_on_cpu)
if(SINTER_BUILD_SAMPLES)
  include(${PROJECT_SOURCE_DIR}/samples/suite/sources.cmake)
  target_sources(test_cuda_on_cpu PRIVATE cuda_on_cpu/workloads_test.cpp ${SINTER_SUITE_SOURCES})
  set_source_files_properties(${SINTER_SUITE_SOURCES} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_link_libraries(test_cuda_on_cpu PRIVATE sinter_by_hand)
endif()

sinter_add_tests(cuda_on_cpu_onnx SOURCES cuda_on_cpu/use_simulator.cpp ${onnx_sources})
target_link_libraries(test_cuda_on_cpu_onnx PRIVATE sinter_cuda_on_cpu)
