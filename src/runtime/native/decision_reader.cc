#include "runtime/native/decision_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "wire/messages.h"

namespace cay::runtime {
namespace {

constexpr off_t kMostBytes = 1 << 20;

Error damaged() {
  return Error{Code::kLost, "decisions_damaged",
               "what the gate wrote about the sandbox cannot be read", 0};
}

}  // namespace

Result<NetworkReport> read_decisions(const std::string& directory, const SandboxId& id) {
  if (!is_uuid(id.get()))
    return Error{Code::kInvalidArgument, "bad_id", "a sandbox id is a UUID", 0};
  const UniqueFd fd(::open((directory + "/" + id.get() + ".net").c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return NetworkReport{};
  struct stat facts{};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size > kMostBytes)
    return damaged();
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  if (::pread(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return damaged();
  auto message = wire::decode<wire::DecisionsMsg>(text);
  if (!message) return damaged();
  NetworkReport out;
  out.policy = std::move(message->policy);
  out.rules = std::move(message->rules);
  out.forgotten = message->forgotten;
  out.sent_bytes = message->sent_bytes;
  out.received_bytes = message->received_bytes;
  for (wire::DecisionMsg& item : message->items) {
    out.items.push_back({.host = std::move(item.host),
                         .address = std::move(item.address),
                         .port = static_cast<std::uint16_t>(item.port),
                         .allowed = item.allowed,
                         .reason = std::move(item.reason),
                         .count = item.count,
                         .first_at = item.first_at,
                         .last_at = item.last_at,
                         .rule = std::move(item.rule),
                         .sent_bytes = item.sent_bytes,
                         .received_bytes = item.received_bytes});
  }
  return out;
}

}  // namespace cay::runtime
