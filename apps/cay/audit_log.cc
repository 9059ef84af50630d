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

// Who has no key could else push out of the files what the others did.
constexpr std::uint32_t kStrangersPerSecond = 20;
constexpr std::size_t kMostTarget = 2048, kMostOfStrangers = 200;

}  // namespace

std::string audit_line(const server::AccessRecord& record) {
  codec::json::object line{{"at", codec::rfc3339(record.begin)},
                           {"key", record.principal},
                           {"tenant", record.tenant},
                           {"from", record.peer},
                           {"method", codec::sanitised_utf8(record.method.substr(0, kMostTarget))},
                           {"target", codec::sanitised_utf8(record.target.substr(0, record.principal.empty() ? kMostOfStrangers : kMostTarget))},
                           {"route", record.route},
                           {"status", record.status},
                           {"ms", std::round(record.milliseconds * 10) / 10},
                           {"request_id", record.request_id}};
  if (!record.link.empty()) line["link"] = record.link;
  if (!record.subject.empty()) line["subject"] = codec::sanitised_utf8(record.subject.substr(0, kMostTarget));
  if (record.failed) line["failed"] = true;
  if (record.cut) line["cut"] = "the key ended before the request";
  if (!record.reason.empty()) line["reason"] = record.reason;
  if (record.part == server::AccessRecord::Part::kEnd) line["event"] = "end";
  if (!record.ended.empty()) line["ended"] = codec::sanitised_utf8(record.ended.substr(0, kMostOfStrangers));
  if (record.part == server::AccessRecord::Part::kBegin) {
    line["event"] = "begin";
    line.erase("ms");
    if (record.status == 0) line.erase("status");  // it has no answer yet
  }
  return codec::write(line);
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& data_dir) {
  auto file = server::LineFile::open(data_dir + "/audit.log", {});
  if (!file) return Error{Code::kUnavailable, "audit_failed", "audit.log cannot be written: " + file.error().message, 0};
  return std::unique_ptr<AuditLog>(new AuditLog(*std::move(file)));
}

bool AuditLog::is_flood(const server::AccessRecord& record) {
  if (!record.principal.empty() || !record.link.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    strangers_ = 0;
  }
  return ++strangers_ > kStrangersPerSecond;
}

void AuditLog::note(const server::AccessRecord& record) {
  if (is_flood(record)) {
    ++unwritten_;
    return;
  }
  if (unwritten_ > 0) {
    write(codec::write(codec::json::object{{"at", codec::rfc3339(record.begin)}, {"refused_and_not_written", std::exchange(unwritten_, 0)}}));
  }
  write(audit_line(record));
}

// No request waits for room, or fails for the want of it: what is missing is counted, and told here and there.
void AuditLog::write(const std::string& line) {
  std::string told;
  if (missing_ > 0) told = codec::write(codec::json::object{{"at", codec::rfc3339(system_clock().wall())}, {"lines_missing", missing_}}) + "\n";
  const auto written = to_.append(told + line);
  if (written && missing_ > 0) spdlog::error("audit.log is written again: {} lines are missing", std::exchange(missing_, 0));
  if (!written && missing_++ == 0) spdlog::error("audit.log: {}: lines are missing from now on, until there is room", written.error().message);
}

}  // namespace cay::app
