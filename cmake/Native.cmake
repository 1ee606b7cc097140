# The subject `native` (sim/subjects/native.h): with an installed libjaccl
# VERBFAULT_NATIVE is ON; else VERBFAULT_NATIVE_WHY says in one line why not.
# C++ is enabled before (Cxx.cmake).
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(VERBFAULT_NATIVE OFF)
set(VERBFAULT_NATIVE_WHY "")

# What libjaccl calls and native_host.c and native.cpp answer.
set(NATIVE_WRAPPED
    accept bind close connect dlerror dlopen dlsym free getaddrinfo listen
    nanosleep posix_memalign recv send setsockopt shutdown socket
    _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
    _ZNSt6thread4joinEv
    _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
    _ZNSt18condition_variable10notify_oneEv
    _ZNSt18condition_variable10notify_allEv
    _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE
)
list(TRANSFORM NATIVE_WRAPPED PREPEND "LINKER:--wrap=" OUTPUT_VARIABLE
                                      VERBFAULT_NATIVE_LINK_OPTIONS)
# Every call to free is wrapped, so its answer is needed in any case.
list(APPEND VERBFAULT_NATIVE_LINK_OPTIONS LINKER:--undefined=__wrap_free)

find_package(JACCL QUIET)
if(NOT JACCL_FOUND)
  set(VERBFAULT_NATIVE_WHY
      "no installed libjaccl (jaccl/jaccl.h, libjaccl.a) in JACCL_ROOT or \
CMAKE_PREFIX_PATH when this was built")
elseif(NOT JACCL_LIBRARY MATCHES "\\.a$")
  set(VERBFAULT_NATIVE_WHY "only a shared libjaccl is installed; it takes the \
static one, or separate processes: verbfault run")
elseif(VERBFAULT_SANITIZE STREQUAL "memory")
  set(VERBFAULT_NATIVE_WHY
      "MemorySanitizer takes what an uninstrumented libjaccl writes for \
uninitialised")
elseif(NOT VERBFAULT_CXX)
  set(VERBFAULT_NATIVE_WHY "no C++ compiler")
else()
  include(CheckLinkerFlag)
  include(CheckCXXSourceCompiles)
  check_linker_flag(CXX "LINKER:--wrap=free" NATIVE_LINKER_WRAPS)
  set(CMAKE_REQUIRED_INCLUDES ${JACCL_INCLUDE_DIR} ${VERBS_INCLUDE})
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # compiles, links nothing
  set(CMAKE_REQUIRED_FLAGS "-std=c++20")
  check_cxx_source_compiles(
    "#include <jaccl/jaccl.h>
     #include <jaccl/rdma.h>
     int main() {
       auto config = jaccl::Config().set_rank(0).set_coordinator(\"\")
                         .set_devices({}).prefer_ring(false);
       jaccl::ibv() = jaccl::IBVWrapper();
       float f = 0;
       jaccl::init(config, true)->all_sum(&f, &f, 4, jaccl::Float32);
     }
     #ifndef __GLIBCXX__
     #error the threads of another C++ library have other names
     #endif"
    NATIVE_API_FITS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT NATIVE_LINKER_WRAPS)
    set(VERBFAULT_NATIVE_WHY "this linker cannot --wrap functions")
  elseif(NOT NATIVE_API_FITS)
    set(VERBFAULT_NATIVE_WHY "the headers in ${JACCL_INCLUDE_DIR} do not \
compile, or are not as sim/subjects/native.cpp needs them")
  else()
    set(VERBFAULT_NATIVE ON)
    message(STATUS "subject native: ${JACCL_LIBRARY}")
  endif()
endif()
if(NOT VERBFAULT_NATIVE)
  message(STATUS "subject native: left out: ${VERBFAULT_NATIVE_WHY}")
endif()
