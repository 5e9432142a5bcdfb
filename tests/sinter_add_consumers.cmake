# One test for each way in which another project takes sinter in.
include(ProcessorCount)
ProcessorCount(jobs)
set(launcher)
if(SINTER_CCACHE)
  set(launcher CMAKE_CXX_COMPILER_LAUNCHER=${SINTER_CCACHE})
endif()
foreach(way find_package add_subdirectory FetchContent)
  add_test(NAME "install: ${way}"
    COMMAND ${CMAKE_COMMAND} -DFROM=${way} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
            -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install -DJOBS=${jobs}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/install/run_consumer.cmake)
  set_tests_properties("install: ${way}" PROPERTIES
    LABELS "install;slow" TIMEOUT 900 PROCESSORS ${jobs}
    ENVIRONMENT "SINTER_CACHE_DIR=${PROJECT_BINARY_DIR}/tests/cache;${launcher}")
endforeach()
# These two build in one directory, one after the other.
set_tests_properties("install: FetchContent" PROPERTIES DEPENDS "install: add_subdirectory")
set_tests_properties("install: FetchContent" "install: add_subdirectory" PROPERTIES RESOURCE_LOCK subproject)
