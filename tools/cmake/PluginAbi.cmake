# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DOUT=file -DLLVM=version -DFILES=list -P PluginAbi.cmake: writes the name of the headers that a plugin sees, if it changed.
set(digests)
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 all "${digests}")
string(SUBSTRING ${all} 0 12 short)
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Made by tools/cmake/PluginAbi.cmake.
#define PKB_PLUGIN_ABI \"pkb ${short} of LLVM ${LLVM}\"
")
