#include "runtime/native/decision_log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/unique_fd.h"
#include "wire/decision_log.h"

namespace cay::runtime {
namespace {

Error damaged() {
  return Error{Code::kLost, "decisions_damaged", "the gate's log of the sandbox cannot be read", 0};
}

struct File {
  UniqueFd fd;
  struct stat facts{};
};

// nullopt: there is none.
Result<std::optional<File>> open_log(const std::string& path) {
  File out;
  out.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!out.fd && errno == ENOENT) return std::optional<File>();
  if (!out.fd || ::fstat(out.fd.get(), &out.facts) != 0 || !S_ISREG(out.facts.st_mode))
    return damaged();
  if (out.facts.st_size > static_cast<off_t>(wire::kMostDecisionLog)) return damaged();
  return std::optional<File>(std::move(out));
}

std::string text_of(const std::optional<File>& file) {
  std::string out(file ? static_cast<std::size_t>(file->facts.st_size) : 0, '\0');
  std::size_t size = 0;
  while (size < out.size()) {
    const ssize_t got =
        ::pread(file->fd.get(), out.data() + size, out.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // shorter than it was: what is there is read
    size += static_cast<std::size_t>(got);
  }
  out.resize(size);
  return out;
}

// Another one wherever something was written. Against waste alone: a gate that forges it has its
// log looked at too often, or its news too late.
std::uint64_t mark_of(const std::optional<File>& newest, const std::optional<File>& older) {
  std::uint64_t sum = 0xcbf29ce484222325;
  const auto mix = [&](std::uint64_t value) { sum = (sum ^ value) * 0x100000001b3; };
  for (const auto* file : {&newest, &older}) {
    mix(*file ? 1 : 0);
    if (!*file) continue;
    mix((*file)->facts.st_ino);
    mix(static_cast<std::uint64_t>((*file)->facts.st_size));
  }
  return std::max<std::uint64_t>(sum, 1);
}

const char* word_for(wire::DecidedKind kind) {
  switch (kind) {
    case wire::DecidedKind::kConnection: return "connection";
    case wire::DecidedKind::kLookup: return "lookup";
    case wire::DecidedKind::kRequest: return "request";
    case wire::DecidedKind::kRestart: return "restart";
    case wire::DecidedKind::kClosed: break;
  }
  return "";
}

const char* word_for(std::uint8_t result) {
  if (result == static_cast<std::uint8_t>(wire::DecidedResult::kAllowed)) return "allowed";
  if (result == static_cast<std::uint8_t>(wire::DecidedResult::kRefused)) return "refused";
  if (result == static_cast<std::uint8_t>(wire::DecidedResult::kAsked)) return "asked";
  return result == static_cast<std::uint8_t>(wire::DecidedResult::kFailed) ? "failed" : "";
}

bool is_restart(const wire::DecidedMsg& one) {
  return one.kind == static_cast<std::uint8_t>(wire::DecidedKind::kRestart);
}

Decided to_model(wire::DecidedMsg&& one) {
  return {.number = one.number,
          .at = one.at,
          .kind = word_for(static_cast<wire::DecidedKind>(one.kind)),
          .result = word_for(one.result),
          .host = std::move(one.host),
          .address = std::move(one.address),
          .port = static_cast<std::uint16_t>(one.port),
          .reason = std::move(one.reason),
          .rule = std::move(one.rule)};
}

}  // namespace

Result<DecidedPage> read_decision_log(const std::string& directory, const SandboxId& id,
                                      const DecidedQuery& query) {
  if (!is_uuid(id.get()))
    return Error{Code::kInvalidArgument, "bad_id", "a sandbox id is a UUID", 0};
  // The newest first: one that becomes the older one meanwhile is read twice, and none is skipped.
  CAY_TRY(const auto newest, open_log(directory + "/" + id.get() + wire::kDecisionLog));
  CAY_TRY(const auto older, open_log(directory + "/" + id.get() + wire::kOldDecisionLog));
  DecidedPage page;
  page.mark = mark_of(newest, older);
  page.next_after = query.after;
  if (query.seen == page.mark) return page;
  const std::uint64_t from = query.from_oldest || query.from_now ? 0 : query.after;
  auto old = wire::read_decided(text_of(older), from, query.limit);
  auto young =
      wire::read_decided(text_of(newest), std::max(from, old.last), query.limit - old.items.size());
  page.oldest = old.oldest != 0 ? old.oldest : young.oldest;
  page.last = std::max(old.last, young.last);
  if (query.from_now) {
    page.next_after = page.last;
    return page;
  }
  if (from > page.last) {
    return Error{
        Code::kOutOfRange, "decision_ahead",
        "decision " + std::to_string(from) + " was not made: the newest is " +
            std::to_string(page.last) +
            ". The data directory is another one, or was restored: begin anew without after=",
        0};
  }
  std::vector<wire::DecidedMsg> all = std::move(old.items);
  std::ranges::move(young.items, std::back_inserter(all));
  std::uint64_t before = query.from_oldest && page.oldest > 0 ? page.oldest - 1 : from;
  for (wire::DecidedMsg& one : all) {
    // A restart's own line states that the number of missing lines is not known.
    const std::uint64_t hole = is_restart(one) ? 0 : one.number - before - 1;
    if (hole > 0 && !page.items.empty()) break;  // reported with the next page
    page.missed += hole;
    before = one.number;
    page.items.push_back(to_model(std::move(one)));
  }
  page.next_after = page.items.empty() ? page.last : page.items.back().number;
  return page;
}

}  // namespace cay::runtime
