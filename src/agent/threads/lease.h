// Lease: the right of one process to write one thread. The kernel gives it back when the process
// ends, however it ends.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::agent {

// A lock of one byte of a file, whose offset is the thread's number. It belongs to the open file
// (F_OFD_SETLK), so two leases exclude each other in one process too.
class Lease {
 public:
  // Fails kNotReady (thread_busy) while another one holds it. Fails kUnavailable (store_failed).
  static Result<Lease> take(const std::string& path, std::int64_t number);
  // Waits for its end instead: for work that is short. Blocks the caller's OS thread.
  static Result<Lease> wait(const std::string& path, std::int64_t number);
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) noexcept = default;

 private:
  explicit Lease(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace cay::agent
