# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Included before project(): picks clang-N and lld-N of the one LLVM major, ccache when it is there,
# and Release (-O2 -DNDEBUG). Whatever the user sets on the command line wins.

if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(PKB_CLANGXX NAMES clang++-${PKB_LLVM_MAJOR}
    HINTS /usr/lib/llvm-${PKB_LLVM_MAJOR}/bin)
  find_program(PKB_CLANG NAMES clang-${PKB_LLVM_MAJOR}
    HINTS /usr/lib/llvm-${PKB_LLVM_MAJOR}/bin)
  if(PKB_CLANGXX AND PKB_CLANG)
    set(CMAKE_CXX_COMPILER ${PKB_CLANGXX})
    set(CMAKE_C_COMPILER ${PKB_CLANG})
  else()
    message(WARNING "clang-${PKB_LLVM_MAJOR} is not installed: the default compiler is used "
      "(apt-get install clang-${PKB_LLVM_MAJOR} lld-${PKB_LLVM_MAJOR})")
  endif()
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "build type" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "flags of Release")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "flags of Release")
set(CMAKE_CXX_STANDARD 17 CACHE STRING "C++ standard")
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# ccache with a precompiled header needs these sloppiness switches (and -fno-pch-timestamp, PkbMLIR). Paths below the checkout (below the build folder, if
# that lies elsewhere) count as relative, and the precompiled header as what its .sum says: checkouts with their build folder inside share everything.
find_program(PKB_CCACHE ccache)
set(PKB_CACHE_BASE ${CMAKE_CURRENT_BINARY_DIR})
cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR ${CMAKE_CURRENT_BINARY_DIR} NORMALIZE PKB_BUILD_INSIDE)
if(PKB_BUILD_INSIDE)
  set(PKB_CACHE_BASE ${CMAKE_CURRENT_SOURCE_DIR})
endif()
if(PKB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PKB_CACHE_BASE} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 ${PKB_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
