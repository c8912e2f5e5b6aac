//===- Process.cpp - Child processes that never outlive pkb-run -----------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Process.h"

#include "tools/pkb-run/Support.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace pkb::run {

namespace {

std::mutex groupsLock;
std::set<pid_t> groups;

void killAllGroups() {
  std::lock_guard<std::mutex> lock(groupsLock);
  for (pid_t group : groups) {
    ::kill(-group, SIGKILL);
  }
}

std::vector<std::string> mergedEnvironment(const std::map<std::string, std::string> &extra) {
  std::vector<std::string> all;
  for (char **entry = environ; *entry; ++entry) {
    std::string text = *entry;
    if (!extra.count(text.substr(0, text.find('=')))) {
      all.push_back(text);
    }
  }
  for (const auto &[name, value] : extra) {
    all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char *> pointersOf(std::vector<std::string> &strings) {
  std::vector<char *> pointers;
  for (std::string &text : strings) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  int end[2] = {-1, -1};
  Pipe() {
    if (pipe2(end, O_CLOEXEC) != 0) {
      throw Failure(BadInput, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
  }
};

} // namespace

Child::Child(const std::vector<std::string> &command, const std::map<std::string, std::string> &environment, const std::string &logPath,
             Wiring wiring)
    : logPath(logPath) {
  std::vector<std::string> arguments = command, variables = mergedEnvironment(environment);
  std::vector<char *> argv = pointersOf(arguments), envp = pointersOf(variables);
  Pipe to, from;
  int log = open(logPath.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || null < 0) {
    throw Failure(BadInput, fmt::format("cannot write '{}': {}", logPath, std::strerror(errno)));
  }
  pid_t parent = getpid();
  pid = fork();
  if (pid < 0) {
    throw Failure(BadInput, fmt::format("cannot start '{}': {}", command[0], std::strerror(errno)));
  }
  if (pid == 0) { // only async-signal-safe calls from here
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(127);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Move both ends out of the way first: either may be 3 or 4 already.
    int in = fcntl(to.end[0], F_DUPFD_CLOEXEC, 16), out = fcntl(from.end[1], F_DUPFD_CLOEXEC, 16);
    bool control = wiring == Wiring::Control;
    dup2(control ? null : in, 0);
    dup2(control ? log : out, 1);
    dup2(log, 2);
    if (control) {
      dup2(in, 3);
      dup2(out, 4);
    }
    execvpe(argv[0], argv.data(), envp.data());
    dprintf(2, "cannot start '%s': %s\n", argv[0], std::strerror(errno));
    _exit(127);
  }
  setpgid(pid, pid);
  {
    std::lock_guard<std::mutex> lock(groupsLock);
    groups.insert(pid);
  }
  close(to.end[0]);
  close(from.end[1]);
  close(log);
  close(null);
  toChild = to.end[1];
  fromChild = from.end[0];
  fcntl(fromChild, F_SETFL, O_NONBLOCK);
}

Child::~Child() {
  kill();
  closeInput();
  close(fromChild);
}

bool Child::sendLine(const std::string &line) {
  std::string text = line + "\n";
  for (size_t done = 0; done < text.size();) {
    ssize_t n = write(toChild, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    done += size_t(n);
  }
  return true;
}

void Child::fill() {
  char chunk[65536];
  while (!closed) {
    ssize_t n = read(fromChild, chunk, sizeof chunk);
    if (n > 0) {
      buffer.append(chunk, size_t(n));
    } else if (n == 0) {
      closed = true;
    } else if (errno != EINTR) {
      break;
    }
  }
}

std::optional<std::string> Child::receiveLine() {
  fill();
  size_t end = buffer.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = buffer.substr(0, end);
  buffer.erase(0, end + 1);
  return line;
}

std::optional<int> Child::poll() {
  int raw = 0;
  if (!status && waitpid(pid, &raw, WNOHANG) == pid) {
    status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    ::kill(-pid, SIGKILL); // what it left behind in its group
    std::lock_guard<std::mutex> lock(groupsLock);
    groups.erase(pid);
  }
  return status;
}

std::optional<int> Child::wait(Clock::time_point deadline) {
  while (!poll() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return status;
}

void Child::closeInput() {
  if (toChild >= 0) {
    close(toChild);
    toChild = -1;
  }
}

void Child::kill() {
  if (!status) {
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);
    wait(after(10));
  }
}

std::string Child::log(size_t bytes) const {
  if (!isFile(logPath)) {
    return "";
  }
  std::string text = readFile(logPath, "log");
  return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

std::string Child::lastLogLine() const {
  std::string text = log();
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.pop_back();
  }
  size_t begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

void waitForAny(const std::vector<Child *> &children, Clock::time_point deadline) {
  std::vector<pollfd> fds;
  for (const Child *child : children) {
    if (!child->finished()) {
      fds.push_back({child->descriptor(), POLLIN, 0});
    }
  }
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  ::poll(fds.data(), fds.size(), int(std::clamp<int64_t>(left, 0, 1000)));
}

void installSignalCleanup() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is an error of the write, as a full disk is
  static sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&set, number);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([] {
    int number = 0;
    if (sigwait(&set, &number) == 0) {
      fmt::print(stderr, "pkb-run: interrupted\n");
      endProcess(128 + number);
    }
  }).detach();
}

void endProcess(int code) {
  std::fflush(nullptr);
  killAllGroups();
  removeTemporaries();
  _exit(code);
}

} // namespace pkb::run
