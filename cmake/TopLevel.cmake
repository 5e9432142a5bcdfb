# Settings for builds of sinter itself; a project that takes sinter in keeps its own.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)

find_program(SINTER_CCACHE ccache)
mark_as_advanced(SINTER_CCACHE)
if(SINTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for before it caches files that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SINTER_CCACHE})
endif()

set(SINTER_SANITIZE "" CACHE STRING "Sanitizers to build everything with, such as address,undefined")
if(SINTER_SANITIZE)
  # Instrumented code makes g++ see uninitialised variables that are not there.
  add_compile_options(-fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
                      -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${SINTER_SANITIZE})
endif()
