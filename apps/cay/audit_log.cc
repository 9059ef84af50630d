#include "audit_log.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "codec/json.h"
#include "codec/time.h"
#include "codec/utf8.h"

namespace cay::app {
namespace {

constexpr std::uint64_t kBytesOfTenant = 16 << 20;  // nine of these

Result<server::LineFile> opened(const std::string& data_dir, const std::string& name) {
  auto file = server::LineFile::open(data_dir + "/" + name, {});
  if (!file)
    return Error{Code::kUnavailable, "audit_failed",
                 name + " cannot be written: " + file.error().message, 0};
  return file;
}

std::string omitted_line(UnixMillis at, std::uint64_t count) {
  const std::string text = std::to_string(count) + (count == 1 ? " request" : " requests");
  return codec::write(codec::json::object{{"at", codec::rfc3339(at)},
                                          {"event", "omitted"},
                                          {"omitted", count},
                                          {"message", text + " omitted"}});
}

}  // namespace

std::string audit_line(const server::AccessRecord& record) {
  constexpr std::size_t kMembers = 16;
  codec::json::object line(codec::of_one_tree());
  line.reserve(kMembers);
  line["at"] = codec::rfc3339(record.begin);
  line["key"] = record.principal;
  line["tenant"] = record.tenant;
  line["from"] = record.peer;
  line["method"] = codec::sanitised_utf8(record.method);
  line["target"] = codec::sanitised_utf8(record.target);
  line["route"] = record.route;
  // At its beginning it has no answer yet.
  const bool begins = record.part == server::AccessRecord::Part::kBegin;
  if (!begins || record.status != 0) line["status"] = record.status;
  if (!begins) line["ms"] = std::round(record.milliseconds * 10) / 10;
  line["request_id"] = record.request_id;
  if (!record.link.empty()) line["link"] = record.link;
  if (!record.subject.empty()) line["subject"] = codec::sanitised_utf8(record.subject);
  if (record.failed) line["failed"] = true;
  if (record.cut) line["cut"] = "the key ended before the request";
  if (!record.reason.empty()) line["reason"] = record.reason;
  if (record.part == server::AccessRecord::Part::kEnd) line["event"] = "end";
  if (!record.ended.empty()) line["ended"] = codec::sanitised_utf8(record.ended);
  if (begins) line["event"] = "begin";
  return codec::write(line);
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& data_dir) {
  CAY_TRY(auto all, opened(data_dir, "audit.log"));
  CAY_TRY(auto changes, opened(data_dir, "audit-changes.log"));
  return std::unique_ptr<AuditLog>(new AuditLog(data_dir, std::move(all), std::move(changes)));
}

AuditLog::AuditLog(std::string data_dir, server::LineFile all, server::LineFile changes)
    : data_dir_(std::move(data_dir)), all_{.name = "audit.log", .to = std::move(all)} {
  changes_["audit-changes.log"] = {.name = "audit-changes.log", .to = std::move(changes)};
}

bool AuditLog::note(server::AccessRecord record) {
  if (!budget_.take(record)) return false;
  const std::uint64_t omitted = budget_.take_omitted();
  if (omitted > 0) write(all_, omitted_line(record.begin, omitted));
  server::shorten(record);
  const std::string line = audit_line(record);
  write(all_, line);
  if (server::has_changed(record)) write(changes_of(record), line);
  return true;
}

AuditLog::Lines& AuditLog::changes_of(const server::AccessRecord& record) {
  std::string name = server::changes_file(record);
  return changes_.try_emplace(name, Lines{.name = name, .to = std::nullopt}).first->second;
}

Result<void> AuditLog::append(Lines& lines, const std::string& text) {
  if (lines.to) return lines.to->append(text);
  const std::string path = data_dir_ + "/" + lines.name;
  // Its directory, and that of all tenants; what cannot be made cannot be opened.
  for (auto end = path.find('/', data_dir_.size() + 1); end != std::string::npos;
       end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700);
  CAY_TRY(auto file, server::LineFile::open(path, {.bytes = kBytesOfTenant}));
  return file.append(text);
}

// No request waits for room or fails for want of it. A line that does not fit is counted, and the
// count is logged.
void AuditLog::write(Lines& lines, const std::string& line) {
  std::string told;
  if (lines.missing > 0)
    told = codec::write(codec::json::object{{"at", codec::rfc3339(system_clock().wall())},
                                            {"lines_missing", lines.missing}}) +
           "\n";
  const auto written = append(lines, told + line);
  if (written && lines.missing > 0)
    spdlog::error("{} is written again: {} lines are missing", lines.name,
                  std::exchange(lines.missing, 0));
  if (!written && lines.missing++ == 0)
    spdlog::error("{}: {}: lines are missing from now on, until there is room", lines.name,
                  written.error().message);
}

}  // namespace cay::app
