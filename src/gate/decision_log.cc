#include "gate/decision_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "os/file.h"

namespace cay::gate {
namespace {

constexpr mode_t kFileMode = 0640;  // the daemon's group reads

bool is_there(const Result<std::string>& text) { return text || text.error().os_errno != ENOENT; }

std::string_view bytes_of(const Result<std::string>& text) {
  return text ? std::string_view(*text) : std::string_view();
}

}  // namespace

DecisionLog::DecisionLog(int directory, const std::string& sandbox_id, UnixMillis now)
    : directory_(directory),
      file_(sandbox_id + wire::kDecisionLog),
      old_(sandbox_id + wire::kOldDecisionLog),
      keeper_(sandbox_id + ".sock") {
  constexpr std::size_t kMost = 2 * wire::kMostDecisionLog;
  const auto text = os::read_file(directory_, file_, kMost);
  exists_ = is_there(text);
  const auto newest = wire::read_decided(bytes_of(text), 0, 0);
  last_ = newest.last;
  bool unread = exists_ && newest.good == 0;
  if (last_ == 0) {  // else the older one has smaller numbers
    const auto before = os::read_file(directory_, old_, kMost);
    if (!exists_ && !is_there(before)) return;  // the first
    const auto older = wire::read_decided(bytes_of(before), 0, 0);
    last_ = older.last;
    unread = unread || (is_there(before) && older.last == 0);
  }
  size_ = text ? text->size() : 0;
  // The gate cannot append to a file of another user, or to something that is no file.
  if (exists_ && (!text || newest.good == 0)) torn_ = true;
  if (text && newest.good > 0 && newest.good < text->size()) torn_ = !mend(*text, newest.good);
  if (newest.closed) return;
  // If nothing can be read, numbers go on from the clock: no sandbox has so many decisions.
  const bool lost = unread && last_ == 0;
  last_ =
      lost ? static_cast<std::uint64_t>(std::max<UnixMillis>(now, 1)) : last_ + wire::kDecidedStep;
  wire::DecidedMsg restart;
  restart.kind = static_cast<std::uint8_t>(wire::DecidedKind::kRestart);
  restart.at = now;
  add(std::move(restart));
}

// A gate was killed while it wrote: what it began goes.
bool DecisionLog::mend(const std::string& text, std::size_t good) {
  if (!os::replace_file(directory_, file_, text.substr(0, good), kFileMode)) return false;
  size_ = good;
  return true;
}

void DecisionLog::add(wire::DecidedMsg decided) {
  decided.number = ++last_;
  wait_for_write(decided);
}

void DecisionLog::wait_for_write(const wire::DecidedMsg& decided) {
  if (waiting_.size() >= kMostWaiting) waiting_.erase(waiting_.begin() + (begun_ > 0 ? 1 : 0));
  waiting_.push_back(wire::decided_frame(decided));
  news_ = true;
}

Result<void> DecisionLog::write() {
  news_ = false;
  if (waiting_.empty()) return {};
  std::string bytes;
  for (const std::string& frame : waiting_) bytes += frame;
  bytes.erase(0, begun_);
  // Not amid a line.
  if (exists_ && begun_ == 0 && (torn_ || size_ + bytes.size() > wire::kMostDecisionLog)) {
    if (::renameat(directory_, file_.c_str(), directory_, old_.c_str()) != 0 && errno != ENOENT)
      return Error::from_errno(errno, "begin a new decision log");
    exists_ = torn_ = false;
  }
  if (!exists_) {
    CAY_CHECK(make_file());
  }
  const UniqueFd fd(
      ::openat(directory_, file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) {  // gone with its sandbox
    waiting_.clear();
    begun_ = 0;
    return {};
  }
  if (!fd) return Error::from_errno(errno, "write the decision log");
  const ssize_t wrote = ::write(fd.get(), bytes.data(), bytes.size());
  if (wrote < 0) return Error::from_errno(errno, "write the decision log");
  size_ += static_cast<std::size_t>(wrote);
  begun_ += static_cast<std::size_t>(wrote);
  for (; !waiting_.empty() && begun_ >= waiting_.front().size(); waiting_.pop_front())
    begun_ -= waiting_.front().size();
  return {};
}

Result<void> DecisionLog::make_file() {
  CAY_CHECK(os::replace_file(directory_, file_, wire::kDecisionLogHead, kFileMode));
  size_ = wire::kDecisionLogHead.size();
  exists_ = true;
  // The daemon removes a sandbox's socket before its files. A file that is made after that belongs
  // to nobody.
  if (!keeper_is_there()) ::unlinkat(directory_, file_.c_str(), 0);
  return {};
}

void DecisionLog::close() {
  if (!exists_ && waiting_.empty()) return;
  wire::DecidedMsg closed;
  closed.kind = static_cast<std::uint8_t>(wire::DecidedKind::kClosed);
  wait_for_write(closed);
  static_cast<void>(write());
}

bool DecisionLog::keeper_is_there() const {
  return ::faccessat(directory_, keeper_.c_str(), F_OK, 0) == 0;
}

}  // namespace cay::gate
