// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text of a program to something module_load takes: a cubin through NVRTC or nvcc, or on the emulator a host
// object. Results are cached by a hash of the text, the device headers, the options and the compiler.
#ifndef PKB_RUNTIME_LIB_COMPILE_H
#define PKB_RUNTIME_LIB_COMPILE_H

#include "ImageCache.h"

#include <string>
#include <vector>

namespace pkb_rt {

struct CompileRequest {
  std::string path; // of the program, for messages and as the name in diagnostics
  std::string text;
  std::string cacheDir; // empty: $PKB_CACHE_DIR, else ~/.cache/pkb
  double timeout = 600; // seconds to wait for another process that compiles the same
  bool emulated = false;
  int capability = 0;    // 90 for compute capability 9.0
  int driverVersion = 0; // 13000 for CUDA 13.0; 0: unknown
};

/// The cubin, or the host object (as a file), from the cache or compiled now. Throws PKB_ERROR_PROGRAM with the compiler's first lines if the
/// text does not compile, and if no compiler is found.
Image compileProgram(const CompileRequest &request);

/// What a device of a compute capability is called: 90 is sm_90a.
std::string architectureOf(int capability);

enum class ObjectKind { Cubin, Ptx, Host };

/// Compiles `text` with nvcc for an architecture, or with the host compiler, into the file `result`. `path` stands for the text in messages. Throws
/// PKB_ERROR_PROGRAM as above.
void compileObject(ObjectKind kind, const std::string &path, const std::string &text, const std::string &compiler, const std::string &architecture,
                   const std::string &result);
/// $PKB_NVCC, else nvcc of $CUDA_HOME, of the path or of /usr/local/cuda; empty if there is none, or it is "none".
std::string findNvcc();
/// The C++ compiler for host objects ($PKB_CXX, clang++, g++). Throws PKB_ERROR_PROGRAM if there is none.
std::string hostCompiler();

/// Directory that holds pkb_rt/device.h: $PKB_RT_INCLUDE, else found beside this library.
std::string includeDirectory();

/// Throws PKB_ERROR_PROGRAM if `path` is something else than a file, which may never end: a directory, a pipe, a device.
void checkIsFile(const std::string &path);
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
