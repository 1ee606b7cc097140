# C++, where there is a compiler: cjaccl's C++ interface, and what is built with
# an installed libjaccl. VERBFAULT_CXX is ON then.
set(VERBFAULT_CXX OFF)
# Two compilers' sanitizers do not mix: clang's C++ for clang's C.
if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX}
   AND CMAKE_C_COMPILER MATCHES "^(.*/)clang(-[0-9]+)?$")
  set(CXX_OF_CLANG "${CMAKE_MATCH_1}clang++${CMAKE_MATCH_2}")
  if(EXISTS "${CXX_OF_CLANG}")
    set(CMAKE_CXX_COMPILER "${CXX_OF_CLANG}")
  endif()
endif()
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")
  if(NOT SANITIZERS OR CMAKE_CXX_COMPILER_ID STREQUAL CMAKE_C_COMPILER_ID)
    set(VERBFAULT_CXX ON)
  else()
    message(STATUS "cjaccl's C++ interface is left out: ${CMAKE_CXX_COMPILER} "
                   "is not of ${CMAKE_C_COMPILER}'s maker")
  endif()
else()
  message(STATUS "no C++ compiler: cjaccl's C++ interface is left out")
endif()
