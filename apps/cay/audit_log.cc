#include "audit_log.h"

#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "codec/json.h"
#include "codec/time.h"
#include "codec/utf8.h"

namespace cay::app {
namespace {

Result<server::LineFile> opened(const std::string& data_dir, const std::string& name) {
  auto file = server::LineFile::open(data_dir + "/" + name, {});
  if (!file) return Error{Code::kUnavailable, "audit_failed", name + " cannot be written: " + file.error().message, 0};
  return file;
}

std::string left_out_line(UnixMillis at, const server::LineShares::LeftOut& left_out) {
  codec::json::object line{{"at", codec::rfc3339(at)}};
  if (left_out.refused > 0) line["refused_and_not_written"] = left_out.refused;
  if (left_out.looks > 0) line["looks_not_written"] = left_out.looks;
  return codec::write(line);
}

}  // namespace

std::string audit_line(const server::AccessRecord& record) {
  codec::json::object line{{"at", codec::rfc3339(record.begin)},
                           {"key", record.principal},
                           {"tenant", record.tenant},
                           {"from", record.peer},
                           {"method", codec::sanitised_utf8(record.method)},
                           {"target", codec::sanitised_utf8(record.target)},
                           {"route", record.route},
                           {"status", record.status},
                           {"ms", std::round(record.milliseconds * 10) / 10},
                           {"request_id", record.request_id}};
  if (!record.link.empty()) line["link"] = record.link;
  if (!record.subject.empty()) line["subject"] = codec::sanitised_utf8(record.subject);
  if (record.failed) line["failed"] = true;
  if (record.cut) line["cut"] = "the key ended before the request";
  if (!record.reason.empty()) line["reason"] = record.reason;
  if (record.part == server::AccessRecord::Part::kEnd) line["event"] = "end";
  if (!record.ended.empty()) line["ended"] = codec::sanitised_utf8(record.ended);
  if (record.part == server::AccessRecord::Part::kBegin) {
    line["event"] = "begin";
    line.erase("ms");
    if (record.status == 0) line.erase("status");  // it has no answer yet
  }
  return codec::write(line);
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& data_dir) {
  CAY_TRY(auto all, opened(data_dir, "audit.log"));
  CAY_TRY(auto changes, opened(data_dir, "audit-changes.log"));
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(all), std::move(changes)));
}

bool AuditLog::note(server::AccessRecord record) {
  if (!shares_.take(record)) return false;
  if (const auto left_out = shares_.left_out(); left_out.refused + left_out.looks > 0) all_.write(left_out_line(record.begin, left_out));
  server::shorten(record);
  const std::string line = audit_line(record);
  all_.write(line);
  if (server::has_changed(record)) changes_.write(line);
  return true;
}

// No request waits for room, or fails for the want of it: what is missing is counted, and told here and there.
void AuditLog::Lines::write(const std::string& line) {
  std::string told;
  if (missing > 0) told = codec::write(codec::json::object{{"at", codec::rfc3339(system_clock().wall())}, {"lines_missing", missing}}) + "\n";
  const auto written = to.append(told + line);
  if (written && missing > 0) spdlog::error("{} is written again: {} lines are missing", name, std::exchange(missing, 0));
  if (!written && missing++ == 0) spdlog::error("{}: {}: lines are missing from now on, until there is room", name, written.error().message);
}

}  // namespace cay::app
