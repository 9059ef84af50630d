#include "gate/decisions.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/unique_fd.h"
#include "os/file.h"

namespace cay::gate {
namespace {

constexpr mode_t kFileMode = 0640;  // the daemon's group reads
constexpr std::size_t kMostFile = 1 << 20;

std::string line_of(const wire::DecisionMsg& item) {
  return item.host + '\n' + std::to_string(item.port) + (item.allowed ? "+" : "-") + item.reason;
}

wire::DecidedMsg decided(const Decisions::What& what, UnixMillis now) {
  wire::DecidedMsg out;
  const bool named = !what.host.empty() && what.host != "*";
  const auto kind = what.port == 0 && named ? wire::DecidedKind::kLookup : what.kind;
  const auto result = !what.allowed         ? wire::DecidedResult::kRefused
                      : what.reason.empty() ? wire::DecidedResult::kAllowed
                                            : wire::DecidedResult::kFailed;
  out.kind = static_cast<std::uint8_t>(kind);
  out.at = now;
  out.result = static_cast<std::uint8_t>(result);
  out.host = what.host.empty() ? what.address : what.host;
  out.address = what.address;
  out.port = what.port;
  out.reason = what.reason;
  out.rule = what.rule;
  return out;
}

Result<void> write_new(int directory, const std::string& name, const std::string& bytes) {
  ::unlinkat(directory, name.c_str(), 0);
  const UniqueFd fd(::openat(directory, name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    const int err = errno;
    ::unlinkat(directory, name.c_str(), 0);
    return Error::from_errno(err, "write what was decided");
  }
  return {};
}

}  // namespace

Decisions::Decisions(int directory, const std::string& sandbox_id, std::string policy,
                     std::string rules)
    : directory_(directory),
      file_(sandbox_id + ".net"),
      keeper_(sandbox_id + ".sock"),
      policy_(std::move(policy)),
      rules_(std::move(rules)),
      log_(directory, sandbox_id, system_clock().wall()) {
  const auto text = os::read_file(directory_, file_, kMostFile);
  const auto old = text ? wire::decode<wire::DecisionsMsg>(*text) : std::nullopt;
  dirty_ = !old || old->policy != policy_ || old->rules != rules_;
  if (!old) return;
  forgotten_ = old->forgotten;
  sent_ = {.counted = old->sent_bytes,
           .uncounted = old->sent_up_to - std::min(old->sent_up_to, old->sent_bytes)};
  received_ = {
      .counted = old->received_bytes,
      .uncounted = old->received_up_to - std::min(old->received_up_to, old->received_bytes)};
  const bool knew = old->sent_bytes + old->received_bytes > 0;  // an older gate had its lines alone
  for (const wire::DecisionMsg& item : old->items) {
    if (items_.size() >= kMost || by_line_.contains(line_of(item))) continue;
    items_.push_back(item);
    by_line_[line_of(item)] = std::prev(items_.end());
    if (knew) continue;
    sent_.counted += item.sent_bytes;
    received_.counted += item.received_bytes;
  }
}

void Decisions::go_by(std::string policy, std::string rules) {
  policy_ = std::move(policy);
  rules_ = std::move(rules);
  dirty_ = true;
}

Decisions::Line Decisions::note(const What& what, UnixMillis now) {
  log_.add(decided(what, now));
  wire::DecisionMsg item;
  item.host = what.host.empty() ? what.address
                                : what.host;  // an address without a name is a line of its own
  item.port = what.port;
  item.allowed = what.allowed;
  item.reason = what.reason;
  item.first_at = now;
  const Line line = line_of(item);
  dirty_ = true;
  const auto found = by_line_.find(line);
  if (found != by_line_.end()) {
    items_.splice(items_.end(), items_, found->second);
  } else {
    if (items_.size() >= kMost) {
      make_room();
    }
    items_.push_back(std::move(item));
    by_line_[line] = std::prev(items_.end());
  }
  wire::DecisionMsg& kept = items_.back();
  kept.address = what.address;
  kept.rule = what.rule;
  kept.last_at = now;
  ++kept.count;
  return line;
}

void Decisions::note_found(const What& what, UnixMillis now) { log_.add(decided(what, now)); }

void Decisions::note_asked(const What& what, UnixMillis now) {
  auto line = decided(what, now);
  line.result = static_cast<std::uint8_t>(wire::DecidedResult::kAsked);
  log_.add(std::move(line));
}

// A sandbox may try new things for as long as it wants; what it got out must not go under in them.
// Lines that moved bytes go only when they are more than half.
void Decisions::make_room() {
  const auto is_empty = [](const wire::DecisionMsg& item) {
    return item.sent_bytes == 0 && item.received_bytes == 0;
  };
  const auto empty = static_cast<std::size_t>(std::ranges::count_if(items_, is_empty));
  const bool among_empty = empty * 2 >= kMost;
  const auto goes = std::ranges::find_if(
      items_, [&](const wire::DecisionMsg& item) { return is_empty(item) == among_empty; });
  by_line_.erase(line_of(*goes));
  items_.erase(goes);
  ++forgotten_;
}

void Decisions::moved(const Line& line, std::uint64_t sent, std::uint64_t received) {
  sent_.counted += sent;
  received_.counted += received;
  dirty_ = true;
  const auto found = by_line_.find(line);
  if (found == by_line_.end()) return;  // forgotten meanwhile
  found->second->sent_bytes += sent;
  found->second->received_bytes += received;
}

void Decisions::set_aside(Bytes& of, std::uint64_t up_to) {
  of.aside = up_to;
  static_cast<void>(write_lines());  // a full disk: then a killed gate's are not known
}

Result<void> Decisions::write() {
  auto logged = log_.dirty() ? log_.write() : Result<void>();
  auto told = dirty_ ? write_lines() : Result<void>();
  return logged ? told : logged;
}

void Decisions::close() {
  log_.close();
  dirty_ = dirty_ || sent_.aside > 0 || received_.aside > 0;
  sent_.aside = received_.aside = 0;
  if (dirty_) static_cast<void>(write_lines());
}

Result<void> Decisions::write_lines() {
  wire::DecisionsMsg message;
  message.policy = policy_;
  message.rules = rules_;
  message.forgotten = forgotten_;
  message.sent_bytes = sent_.counted;
  message.received_bytes = received_.counted;
  message.sent_up_to = sent_.up_to();
  message.received_up_to = received_.up_to();
  message.items.assign(items_.begin(), items_.end());
  dirty_ = false;
  const std::string fresh = file_ + ".new";
  CAY_CHECK(write_new(directory_, fresh, wire::encode(message)));
  // A file that is no longer there was removed with its sandbox, and must not come back: an
  // exchange fails then.
  const bool exchanged =
      ::renameat2(directory_, fresh.c_str(), directory_, file_.c_str(), RENAME_EXCHANGE) == 0;
  const bool first = !exchanged && (errno == EINVAL || (!written_ && keeper_is_there()));
  if (first && ::renameat(directory_, fresh.c_str(), directory_, file_.c_str()) != 0)
    return Error::from_errno(errno, "write what was decided");
  if (!first) ::unlinkat(directory_, fresh.c_str(), 0);
  written_ = true;
  return {};
}

bool Decisions::keeper_is_there() const {
  return ::faccessat(directory_, keeper_.c_str(), F_OK, 0) ==
         0;  // the launcher removes it before the file
}

}  // namespace cay::gate
