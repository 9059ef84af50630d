// AuditLog: one line of JSON for each request in DATA/audit.log: the caller, the action, its origin
// and its result. A request that lasts or may change something has one more line at its beginning.
//
// A line is in the file (not yet on the disk) before the next request of its connection is read.
// The line of a beginning is there before its handler acts. No line has a key, a query or a body.
//
// Changes are also in a file of their own, which only changes of the same tenant can fill:
// DATA/audit-changes/TENANT/create.log or use.log, by the key's scope. The host's own keys have
// DATA/audit-changes.log.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "server/audit_budget.h"
#include "server/dispatch.h"
#include "server/line_file.h"

namespace cay::app {

class AuditLog {
 public:
  // The files are made with mode 0600; past 64 MiB each becomes NAME.1.log, and so on to
  // NAME.8.log; those of a tenant past 16 MiB.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& data_dir);

  // Returns whether the request got a line. The next line is preceded by the number of omitted
  // ones.
  bool note(server::AccessRecord record);

 private:
  // One file. It stays open where `to` has it; those of tenants are opened for each line, for there
  // may be many.
  struct Lines {
    std::string name;
    std::optional<server::LineFile> to;
    std::uint64_t missing = 0;  // that found no room, since one did
  };
  AuditLog(std::string data_dir, server::LineFile all, server::LineFile changes);
  void write(Lines& lines, const std::string& line);
  Result<void> append(Lines& lines, const std::string& text);
  Lines& changes_of(const server::AccessRecord& record);

  const std::string data_dir_;
  Lines all_;
  std::map<std::string, Lines> changes_;  // by name
  server::AuditBudget budget_;
};

// The line without its end.
std::string audit_line(const server::AccessRecord& record);

}  // namespace cay::app
