# The target `gather`: the tests, the tool and the samples in one folder that runs on another Linux machine, with
# the libraries they need beside them. tests/gpu.sh runs what is in it.
#
# Each program is linked a second time from the same objects, against one shared library, which keeps the folder
# small; none of this is part of an ordinary build.
find_package(CLI11 REQUIRED)  # the tool names it, and imported targets belong to a directory

set(gathered_folder ${PROJECT_BINARY_DIR}/gather)

# Tests of the source tree, of what is built for the processor of this machine, of what no GPU has a part in, and of
# data that are too large to come along.
set(left_behind "^test_(onnx|repository|prelude|base|ir|passes|codegen|nvrtc_matrix|cuda_on_cpu.*)$")

function(sinter_gathered target)
  set_target_properties(${target} PROPERTIES
    EXCLUDE_FROM_ALL ON BUILD_WITH_INSTALL_RPATH ON
    LIBRARY_OUTPUT_DIRECTORY ${gathered_folder}/lib RUNTIME_OUTPUT_DIRECTORY ${gathered_folder})
  # The old kind of rpath holds for the libraries' own libraries, too.
  target_link_options(${target} PRIVATE -s LINKER:--disable-new-dtags)
endfunction()

add_library(sinter_gathered SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sinter>)
get_target_property(libraries sinter LINK_LIBRARIES)
target_link_libraries(sinter_gathered PRIVATE ${libraries})
sinter_gathered(sinter_gathered)
set_target_properties(sinter_gathered PROPERTIES OUTPUT_NAME sinter INSTALL_RPATH $ORIGIN)

set(programs)
function(sinter_gather_programs folder)
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL EXECUTABLE OR target MATCHES "${left_behind}")
      continue()
    endif()
    get_target_property(libraries ${target} LINK_LIBRARIES)
    set(objects $<TARGET_OBJECTS:${target}>)
    if(sinter_testing IN_LIST libraries)
      list(APPEND objects $<TARGET_OBJECTS:sinter_testing>)
      list(APPEND libraries sinter_internal)
    endif()
    list(REMOVE_ITEM libraries sinter::sinter sinter_testing)
    get_target_property(name ${target} OUTPUT_NAME)
    if(NOT name)
      set(name ${target})
    endif()
    add_executable(gathered_${target} EXCLUDE_FROM_ALL ${objects})
    target_link_libraries(gathered_${target} PRIVATE ${libraries} sinter_gathered)
    sinter_gathered(gathered_${target})
    set_target_properties(gathered_${target} PROPERTIES
      OUTPUT_NAME ${name} LINKER_LANGUAGE CXX INSTALL_RPATH $ORIGIN/lib)
    list(APPEND programs gathered_${target})
  endforeach()
  set(programs ${programs} PARENT_SCOPE)
endfunction()
sinter_gather_programs(tests)
sinter_gather_programs(samples)
sinter_gather_programs(samples/tool)

# OpenBLAS is not linked, but loaded when it is first used.
find_library(SINTER_OPENBLAS libopenblas.so.0)
mark_as_advanced(SINTER_OPENBLAS)
add_custom_target(gather VERBATIM
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${gathered_folder} -DSOURCE=${PROJECT_SOURCE_DIR} -DLOADED=${SINTER_OPENBLAS}
          -P ${PROJECT_SOURCE_DIR}/cmake/gather.cmake
  COMMENT "Gathering libraries and files in ${gathered_folder}")
add_dependencies(gather sinter_gathered ${programs})
