// ChildProcess: a program on this host in a session of its own, with pipes for stdin and output.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"

namespace cay::providers {

struct ChildOptions {
  std::vector<std::string> argv;  // the first one is looked up on this process's PATH
  std::vector<std::string> env;   // NAME=VALUE: all that the child gets
  std::string workdir{};          // empty: this process's
  bool stdin_at_end = false;
  bool merge_stderr = false;  // stderr goes where stdout goes; else where this process's goes
};

struct ChildEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// Belongs to one loop.
class ChildProcess {
 public:
  // Fails kUnavailable (child_not_started): no such program, directory or permission.
  static Result<std::unique_ptr<ChildProcess>> start(asio::any_io_executor executor,
                                                     ChildOptions options);
  ~ChildProcess();  // kills its group, if wait() has not returned
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next bytes of its output; none: no process holds it open any more. One caller at a time.
  Task<std::string> read();
  // Fails kNotReady (stdin_closed).
  Task<void> write(std::string bytes);
  void close_stdin();
  Task<ChildEnd> wait();
  void kill();  // the whole group
  int pid() const;

 private:
  struct Impl;
  explicit ChildProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the variables of this process that hold no key: PATH, HOME, LANG and the like.
std::vector<std::string> harmless_environment();

}  // namespace cay::providers
