#include "audit_log.h"

#include <fcntl.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>

#include "base/unique_fd.h"
#include "codec/json.h"
#include "codec/time.h"
#include "codec/utf8.h"

namespace cay::app {
namespace {

constexpr std::size_t kFileBytes = 64 << 20;
constexpr std::size_t kOlderFiles = 8;
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
  if (record.failed) line["failed"] = true;
  if (record.cut) line["cut"] = "the key ended before the request";
  if (!record.reason.empty()) line["reason"] = record.reason;
  if (record.part == server::AccessRecord::Part::kEnd) line["event"] = "end";
  if (!record.ended.empty()) line["ended"] = codec::sanitised_utf8(record.ended.substr(0, kMostOfStrangers));
  if (record.part == server::AccessRecord::Part::kBegin) {
    line["event"] = "begin";
    line.erase("ms");
  }
  return codec::write(line);
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& data_dir) {
  const std::string path = data_dir + "/audit.log";
  // The library opens by name, with the usual mode: so the file is there before, ours alone. (The directory is, too.)
  const UniqueFd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made) return Error::from_errno(errno, "open " + path);
  try {
    spdlog::file_event_handlers handlers;
    handlers.after_open = [](const spdlog::filename_t&, std::FILE* file) { ::fchmod(::fileno(file), 0600); };
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kFileBytes, kOlderFiles, false, handlers);
    auto logger = std::make_shared<spdlog::logger>("audit", std::move(sink));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::info);
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler([](const std::string& text) { spdlog::error("audit.log: {}", text); });
    return std::unique_ptr<AuditLog>(new AuditLog(std::move(logger)));
  } catch (const spdlog::spdlog_ex& failure) {
    return Error{Code::kUnavailable, "audit_failed", "audit.log cannot be written: " + std::string(failure.what()), 0};
  }
}

AuditLog::AuditLog(std::shared_ptr<spdlog::logger> to) : to_(std::move(to)) {}
AuditLog::~AuditLog() = default;

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
    const codec::json::object line{{"at", codec::rfc3339(record.begin)}, {"refused_and_not_written", std::exchange(unwritten_, 0)}};
    to_->info(codec::write(line));
  }
  to_->info(audit_line(record));
}

}  // namespace cay::app
