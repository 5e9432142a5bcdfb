# What every test executable shares: main, the precompiled Catch2 header, and a kernel cache of their own.
add_library(sinter_testing STATIC
  catch_main.cpp
  skip.cpp
  support/compare.cpp
  support/compile_source.cpp
  support/error_bounds.cpp
  support/every_op.cpp
  support/guarded_memory.cpp
  support/minimize.cpp
  support/places.cpp
  support/random_graph.cpp
  support/run_program.cpp
  support/sandbox.cpp
)
target_link_libraries(sinter_testing PUBLIC sinter::sinter sinter_internal sinter_warnings Catch2::Catch2)
target_precompile_headers(sinter_testing PRIVATE catch.h)
target_compile_options(sinter_testing PUBLIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
set_source_files_properties(catch_main.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
  COMPILE_DEFINITIONS SINTER_TEST_CACHE_DIR="${PROJECT_BINARY_DIR}/tests/cache")
# For the tests that look at files of the source tree.
target_compile_definitions(sinter_testing PUBLIC SINTER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# sinter_add_tests(LAYER SOURCES file...)
#
# Makes the executable test_LAYER and registers each of its TEST_CASEs as the CTest test "LAYER: name".
function(sinter_add_tests layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES)
    return()
  endif()
  set(target test_${layer})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE sinter_testing)
  target_precompile_headers(${target} REUSE_FROM sinter_testing)
  # The executable lists its own test cases, once it is built.
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND $<TARGET_FILE:${target}> --write-ctest ${layer} ${list})
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${include} "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n\
  add_test(${layer}_not_built ${target}-not-built)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
