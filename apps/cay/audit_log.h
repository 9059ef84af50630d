// AuditLog: who asked what, from where, and what came of it: a line of JSON for each request, in DATA/audit.log, and one more at
// the beginning of what lasts or may change something. A line is in the file (not yet on the disk) before the next request of its
// connection is read, and that of a beginning before its handler acts. Never a key, a query or a body. What has changed something is
// also in DATA/audit-changes.log, where nothing but changes can push it out.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/dispatch.h"
#include "server/line_file.h"
#include "server/line_shares.h"

namespace cay::app {

class AuditLog {
 public:
  // The files are made with mode 0600; past 64 MiB each becomes NAME.1.log, and so on to NAME.8.log.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& data_dir);

  // Whether it got a line; what did not is counted, and told before the next (LineShares).
  bool note(server::AccessRecord record);

 private:
  struct Lines {
    const char* name;
    server::LineFile to;
    std::uint64_t missing = 0;  // that found no room, since one did
    void write(const std::string& line);
  };
  AuditLog(server::LineFile all, server::LineFile changes)
      : all_{"audit.log", std::move(all)}, changes_{"audit-changes.log", std::move(changes)} {}

  Lines all_, changes_;
  server::LineShares shares_;
};

// The line without its end.
std::string audit_line(const server::AccessRecord& record);

}  // namespace cay::app
