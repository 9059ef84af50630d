// AuditLog: who asked what, from where, and what came of it: a line of JSON for each request, in DATA/audit.log, and one more at
// the beginning of what lasts or may change something. A line is in the file (not yet on the disk) before the next request of its
// connection is read, and that of a beginning before its handler acts. Never a key, a query or a body.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/dispatch.h"
#include "server/line_file.h"

namespace cay::app {

class AuditLog {
 public:
  // The file is made with mode 0600; past 64 MiB it becomes audit.1.log, and so on to audit.8.log.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& data_dir);

  void note(const server::AccessRecord& record);

 private:
  explicit AuditLog(server::LineFile to) : to_(std::move(to)) {}
  bool is_flood(const server::AccessRecord& record);
  void write(const std::string& line);

  server::LineFile to_;
  std::chrono::steady_clock::time_point second_;
  std::uint32_t strangers_ = 0;     // in this second
  std::uint64_t unwritten_ = 0;     // of them, since the last line that tells
  std::uint64_t missing_ = 0;       // lines that found no room, since one did
};

// The line without its end. A part of its own for the tests.
std::string audit_line(const server::AccessRecord& record);

}  // namespace cay::app
