# FindJACCL: an installed libjaccl, MLX's RDMA library on its own.
#
#   JACCL_ROOT or CMAKE_PREFIX_PATH   where to look: include/jaccl/jaccl.h and
#                                     lib/libjaccl.a
#   JACCL_FOUND, JACCL_INCLUDE_DIR, JACCL_LIBRARY, and the target JACCL::jaccl
#
# The static library comes first: that is what it installs by default, and only
# its calls can be turned to other functions when it is linked.
find_path(JACCL_INCLUDE_DIR jaccl/jaccl.h)
find_library(JACCL_LIBRARY NAMES libjaccl.a jaccl)
mark_as_advanced(JACCL_INCLUDE_DIR JACCL_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(JACCL REQUIRED_VARS JACCL_LIBRARY
                                                      JACCL_INCLUDE_DIR)
if(JACCL_FOUND AND NOT TARGET JACCL::jaccl)
  add_library(JACCL::jaccl UNKNOWN IMPORTED)
  set_target_properties(
    JACCL::jaccl PROPERTIES IMPORTED_LOCATION "${JACCL_LIBRARY}"
                            INTERFACE_INCLUDE_DIRECTORIES
                            "${JACCL_INCLUDE_DIR}"
                            IMPORTED_LINK_INTERFACE_LANGUAGES CXX)
endif()
