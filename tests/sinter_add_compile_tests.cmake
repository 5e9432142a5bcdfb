# sinter_add_compile_tests(file...): each file is compiled against the public headers alone, and its first line
# says whether that must succeed or which message it must give (see compile_fail/check.cmake).
function(sinter_add_compile_tests)
  foreach(file ${ARGN})
    cmake_path(GET file STEM name)
    add_test(NAME "compile: ${name}"
      COMMAND ${CMAKE_COMMAND} -DFILE=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DCOMPILER=${CMAKE_CXX_COMPILER}
              "-DINCLUDES=$<TARGET_PROPERTY:sinter,INTERFACE_INCLUDE_DIRECTORIES>"
              -P ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/check.cmake)
    set_tests_properties("compile: ${name}" PROPERTIES LABELS compile TIMEOUT 120)
  endforeach()
endfunction()
