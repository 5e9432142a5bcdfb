# Graphviz's graph library, which ships no package configuration. Defines Cgraph::cgraph.
find_path(Cgraph_INCLUDE_DIR graphviz/cgraph.h)
find_library(Cgraph_LIBRARY cgraph)
mark_as_advanced(Cgraph_INCLUDE_DIR Cgraph_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cgraph REQUIRED_VARS Cgraph_LIBRARY Cgraph_INCLUDE_DIR)

if(Cgraph_FOUND AND NOT TARGET Cgraph::cgraph)
  add_library(Cgraph::cgraph UNKNOWN IMPORTED)
  set_target_properties(Cgraph::cgraph PROPERTIES
    IMPORTED_LOCATION ${Cgraph_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Cgraph_INCLUDE_DIR})
endif()
