# Configures, builds and runs the project of this folder as a user would.
#
# FROM: find_package, add_subdirectory or FetchContent. SOURCE, BUILD: sinter's source and build directories.
# WORK: a directory of this test. JOBS: how many compilers at a time.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${output}")
  endif()
  message("${output}")
endfunction()

set(options -DSINTER_FROM=${FROM})
if(FROM STREQUAL find_package)
  set(project ${WORK}/installed)
  file(REMOVE_RECURSE ${WORK}/prefix ${project})
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  list(APPEND options -DCMAKE_PREFIX_PATH=${WORK}/prefix)
else()
  set(project ${WORK}/subproject)
  list(APPEND options -DSINTER_SOURCE=${SOURCE})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${project} -G Ninja ${options})
run(${CMAKE_COMMAND} --build ${project} --target consumer -j ${JOBS})
run(${project}/consumer)
