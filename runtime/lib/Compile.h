// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text of a program to something module_load takes: a cubin through NVRTC or nvcc, or on the emulator a host
// object. Results are cached by a hash of the text, the device headers, the options and the compiler.
#ifndef PKB_RUNTIME_LIB_COMPILE_H
#define PKB_RUNTIME_LIB_COMPILE_H

#include <string>
#include <vector>

namespace pkb_rt {

struct CompileRequest {
  std::string path; // of the .cu, for messages and as the name in diagnostics
  std::string text;
  std::string cacheDir; // empty: $PKB_CACHE_DIR, else ~/.cache/pkb
  bool emulated = false;
  int capability = 0;    // 90 for compute capability 9.0
  int driverVersion = 0; // 13000 for CUDA 13.0; 0: unknown
};

/// Path of the cubin or host object in the cache. Throws PKB_ERROR_PROGRAM with the compiler's first lines if the text
/// does not compile, and if no compiler is found.
std::string compileProgram(const CompileRequest &request);

/// Directory that holds pkb_rt/device.h: $PKB_RT_INCLUDE, else found beside this library.
std::string includeDirectory();

/// Reads a whole file. Throws PKB_ERROR_PROGRAM.
std::string readFile(const std::string &path);

/// Directory of the shared library (or executable) that contains this code.
std::string libraryDirectory();

/// Runs a program without a shell and waits; standard output and error go to `output`. -1 if it cannot be started.
int runProgram(const std::vector<std::string> &arguments, std::string &output);

/// Cubin by NVRTC. False with a reason if no NVRTC can be loaded; throws PKB_ERROR_PROGRAM if the text does not
/// compile.
bool compileWithNvrtc(const CompileRequest &request, const std::vector<std::string> &options, std::string &image,
                      std::string &reason);
/// Path of the NVRTC that compileWithNvrtc would use and its version (13000), for the cache key. Empty if none.
std::string describeNvrtc(int driverVersion);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_COMPILE_H
