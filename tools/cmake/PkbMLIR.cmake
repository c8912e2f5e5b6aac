# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# MLIR and LLVM from the distribution: find_package, compile flags, the precompiled header, and (with
# PKB_STATIC=ON) the archives of a tool that needs neither libMLIR.so nor libLLVM.so.
# A macro file, not a function: include_directories and flags must reach the callers below.

if(NOT MLIR_DIR)
  set(MLIR_DIR /usr/lib/llvm-${PKB_LLVM_MAJOR}/lib/cmake/mlir CACHE PATH "MLIRConfig.cmake's folder")
endif()
find_package(MLIR ${PKB_LLVM_MAJOR}.1 REQUIRED CONFIG) # major.minor: "22" alone is refused
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions) # RTTI on, exceptions off, PIC: as the packages were built
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/include
  ${CMAKE_SOURCE_DIR}/runtime/include)
add_compile_options(-Wall -Wno-unused-parameter)

# Everything TableGen makes; each of our libraries waits for it, so no order inside is needed.
add_custom_target(pkb-tablegen)

# pkb/PluginAbi.h.inc: what the headers are that a plugin is compiled against.
file(GLOB_RECURSE pkb_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dialects/*.h ${CMAKE_SOURCE_DIR}/dialects/*.td
  ${CMAKE_SOURCE_DIR}/include/pkb/*.h)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/pkb/PluginAbi.h.inc
  COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_BINARY_DIR}/pkb/PluginAbi.h.inc -DLLVM=${LLVM_PACKAGE_VERSION} "-DFILES=${pkb_headers}"
    -P ${CMAKE_SOURCE_DIR}/tools/cmake/PluginAbi.cmake
  DEPENDS ${pkb_headers} ${CMAKE_SOURCE_DIR}/tools/cmake/PluginAbi.cmake
  VERBATIM)
add_custom_target(pkb-plugin-abi DEPENDS ${CMAKE_BINARY_DIR}/pkb/PluginAbi.h.inc)
add_dependencies(pkb-tablegen pkb-plugin-abi)

if(PKB_STATIC)
  # Debian builds MLIR against libLLVM.so, so every exported archive names the target LLVM. Give them
  # the component archives instead.
  set(LLVM_LINK_LLVM_DYLIB OFF)
  llvm_map_components_to_libnames(pkb_llvm Support Core BinaryFormat BitReader BitWriter AsmParser
    IRReader IRPrinter Analysis AggressiveInstCombine FrontendOpenMP Linker MC Passes Remarks Target
    TargetParser TransformUtils ipo)
  find_library(PKB_Z libz.a REQUIRED)
  find_library(PKB_ZSTD libzstd.a REQUIRED)
  set_target_properties(LLVMSupport PROPERTIES
    INTERFACE_LINK_LIBRARIES "rt;dl;m;${PKB_Z};${PKB_ZSTD};LLVMDemangle")
  get_property(pkb_all_mlir GLOBAL PROPERTY MLIR_ALL_LIBS)
  set(PKB_MLIR_LINK)
  foreach(target ${pkb_all_mlir})
    get_target_property(type ${target} TYPE)
    get_target_property(libs ${target} INTERFACE_LINK_LIBRARIES)
    if(libs)
      list(TRANSFORM libs REPLACE "^LLVM$" "${pkb_llvm}")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libs}")
    endif()
    if(type STREQUAL "STATIC_LIBRARY" AND NOT target MATCHES "CAPI|ExecutionEngine|ROCDL|XeVM|SPIRV")
      list(APPEND PKB_MLIR_LINK ${target}) # an archive gives only what is asked of it
    endif()
  endforeach()
else()
  set(PKB_MLIR_LINK MLIR LLVM)
endif()

if(PKB_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pkb-pch.cpp "// owner of the precompiled header\n")
  add_library(pkb-pch OBJECT ${CMAKE_BINARY_DIR}/pkb-pch.cpp)
  llvm_update_compile_flags(pkb-pch)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    target_compile_options(pkb-pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(pkb-pch PRIVATE
    <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h>
    <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h> <mlir/IR/DialectImplementation.h>
    <mlir/IR/Matchers.h> <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h>
    <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h> <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h>
    <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h>
    <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Transforms/DialectConversion.h>
    <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Tensor/IR/Tensor.h>
    <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h> <llvm/Support/raw_ostream.h>)
  # What it was made of, for the compiler cache: its bytes have the path of this build folder in them.
  set(PKB_PCH_FILE ${CMAKE_BINARY_DIR}/CMakeFiles/pkb-pch.dir/cmake_pch.hxx.pch)
  get_target_property(headers pkb-pch PRECOMPILE_HEADERS)
  file(TIMESTAMP ${MLIR_DIR}/MLIRConfig.cmake installed)
  file(WRITE ${PKB_PCH_FILE}.sum "${LLVM_PACKAGE_VERSION} ${installed} ${headers}")
endif()
