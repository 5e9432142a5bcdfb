# xxHash, used from its header alone. Defines xxHash::xxhash_inline.
find_path(xxHash_INCLUDE_DIR xxhash.h)
mark_as_advanced(xxHash_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash REQUIRED_VARS xxHash_INCLUDE_DIR)

if(xxHash_FOUND AND NOT TARGET xxHash::xxhash_inline)
  add_library(xxHash::xxhash_inline INTERFACE IMPORTED)
  set_target_properties(xxHash::xxhash_inline PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${xxHash_INCLUDE_DIR} INTERFACE_COMPILE_DEFINITIONS XXH_INLINE_ALL)
endif()
