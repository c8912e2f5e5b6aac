//===- Process.h - Child processes that never outlive pkb-run ---*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_PROCESS_H
#define TOOLS_PKB_RUN_PROCESS_H

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pkb::run {

using Clock = std::chrono::steady_clock;

inline Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// A child in a process group of its own, killed with all its descendants when this object or pkb-run goes. Make it from the main
/// thread only: the kernel kills it when the thread that made it ends.
///
/// `sendLine` and `receiveLine` talk to two descriptors of the child: 3 and 4, or its standard input and output. What it prints
/// otherwise goes to a file.
class Child {
public:
  enum class Wiring { Control, Standard };
  Child(const std::vector<std::string> &command, const std::map<std::string, std::string> &environment, const std::string &logPath,
        Wiring wiring = Wiring::Control);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// False if the child has closed its end.
  bool sendLine(const std::string &line);
  /// The next whole line if one has come already.
  std::optional<std::string> receiveLine();
  int descriptor() const { return fromChild; }
  /// True once its end of the pipe is closed and every line has been read.
  bool finished() const { return closed && buffer.find('\n') == std::string::npos; }
  /// Exit status (128 + signal for a killed child) if it has ended.
  std::optional<int> poll();
  /// Waits until `deadline` for the end.
  std::optional<int> wait(Clock::time_point deadline);
  /// Tells the child that no more lines come.
  void closeInput();
  void kill();
  /// What the child printed, at most the last `bytes`.
  std::string log(size_t bytes = 4000) const;
  /// The last line of the log that is not empty: where Python puts the error.
  std::string lastLogLine() const;

private:
  void fill();
  pid_t pid = -1;
  int toChild = -1, fromChild = -1;
  bool closed = false;
  std::optional<int> status;
  std::string logPath, buffer;
};

/// Waits until one of `children` has something to read, or until `deadline`.
void waitForAny(const std::vector<Child *> &children, Clock::time_point deadline);

/// From here on Ctrl-C, SIGTERM and SIGHUP kill every child, remove temporaries and end pkb-run with 128 + signal.
/// Call before any thread is made.
void installSignalCleanup();

/// Kills every child, removes temporaries, and ends the process at once with `code`, whatever other threads do.
[[noreturn]] void endProcess(int code);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_PROCESS_H
