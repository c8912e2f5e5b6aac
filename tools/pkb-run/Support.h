//===- Support.h - Errors, files and paths of pkb-run -----------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_SUPPORT_H
#define TOOLS_PKB_RUN_SUPPORT_H

#include <stdexcept>
#include <string>
#include <vector>

namespace pkb::run {

/// Exit statuses of pkb-run.
enum ExitCode { Right = 0, Wrong = 1, BadInput = 2, FellBack = 3, Hang = 4 };

/// What ends a job: one line that names the thing and what to do, and the exit status.
class Failure : public std::runtime_error {
public:
  Failure(int code, const std::string &message) : std::runtime_error(message), code(code) {}
  int code;
};

/// The whole file. Throws Failure(BadInput) naming `what` and the path if it cannot be read.
std::string readFile(const std::string &path, const std::string &what);

/// Writes `text` whole or not at all (runtime/lib/OutputFile.h). Throws Failure(BadInput) naming the path.
void writeFileAtomically(const std::string &path, const std::string &text);

/// Throws Failure(BadInput) if nothing can be written to `path`; for the start of a run. Leaves what is there as it is.
void requireWritable(const std::string &path);

/// What was printed so far, out. Throws Failure(BadInput) if any of it could not be written.
void flushStandardOutput();

/// Lower-case hex SHA-256 of `data`.
std::string sha256Hex(const std::string &data);

bool isFile(const std::string &path);
bool isDirectory(const std::string &path);
void removeTree(const std::string &path);

/// The absolute folder of this executable (links resolved).
std::string executableFolder();

/// The shared library `name` of the run time, beside this executable in `../lib`. Throws if there is none.
std::string findLibrary(const std::string &name);

/// The folder of the run-time libraries: `../lib` of this executable.
std::string libraryFolder();

/// The folder that holds the Python package `pkb` ($PKB_PYTHONPATH, `../python`, `../runtime/torch`, or the source tree).
std::string findPythonPackage();

/// The folder with `pkb_rt/device.h`, or "" ($PKB_RT_INCLUDE, `../include`, or the source tree).
std::string findRuntimeHeaders();

/// SHA-256 over the names and contents of all headers under `pkb_rt/`; "" if they are not there.
std::string runtimeHeadersHash();

/// The Python that runs user code: $PKB_PYTHON, else build/venv/bin/python, else python3. Not checked here.
std::string findPython();

/// A folder of this run under $TMPDIR that `removeTemporaries` deletes; the path is short enough for Unix sockets.
std::string makeTemporaryFolder(const std::string &hint);
void removeTemporaries();

/// Dimensions as "2x3x4"; "scalar" for none.
std::string shapeText(const std::vector<int64_t> &sizes);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_SUPPORT_H
