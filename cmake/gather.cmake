# Puts into FOLDER what its programs need beside themselves: libraries that another Linux machine may lack, also
# those of LOADED, a library that is loaded at run time (or empty), and the files of SOURCE that tests read.
file(GLOB programs ${FOLDER}/test_* ${FOLDER}/sinter)
set(loaded)
if(LOADED)
  set(loaded ${LOADED})
endif()
# Not the C and C++ runtime and the loader, which belong to a system, and nothing of CUDA.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${programs}
  LIBRARIES ${FOLDER}/lib/libsinter.so ${loaded}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so" "^ld-linux" "^libsinter\\.so" "^libcu" "^libnv")
if(missing)
  message(FATAL_ERROR "Not found: ${missing}")
endif()
foreach(library IN LISTS libraries loaded)
  get_filename_component(name ${library} NAME)
  if(NOT EXISTS ${FOLDER}/lib/${name})
    get_filename_component(file ${library} REALPATH)
    file(COPY_FILE ${file} ${FOLDER}/lib/${name})
  endif()
endforeach()

file(COPY ${SOURCE}/docs/ DESTINATION ${FOLDER}/source/docs FILES_MATCHING PATTERN "*.md")
file(GLOB scripts ${SOURCE}/samples/bench/*.py)
file(COPY ${SOURCE}/tests/gpu.sh ${scripts} DESTINATION ${FOLDER}
     FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

file(GLOB_RECURSE files ${FOLDER}/*)
set(bytes 0)
foreach(file IN LISTS files)
  file(SIZE ${file} size)
  math(EXPR bytes "${bytes} + ${size}")
endforeach()
math(EXPR megabytes "${bytes} / 1000000")
message(STATUS "${FOLDER}: ${megabytes} MB")
