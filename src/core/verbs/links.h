// Links: rights to one service or one file of a sandbox, for whoever has a token. They wake nothing
// by themselves.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/task.h"
#include "model/link.h"
#include "model/principal.h"

namespace cay::core {

// A link that was just made, with its token: there is no other time to see it.
struct IssuedLink {
  Link link;
  std::string token;
};
// Set once: what is open through the link is to be cut, and why.
class LinkEnd : public Event {
 public:
  using Event::Event;
  void end(Error why) {
    why_ = std::move(why);
    set();
  }
  const Error& why() const { return why_; }

 private:
  Error why_{Code::kCancelled, "link_withdrawn", "the link was withdrawn", 0};
};

// A link in use. `ended` is set when it is withdrawn, or its sandbox goes; when its time has passed
// (a service's), or its key is gone, by end_lapsed().
struct OpenLink {
  Link link;
  std::shared_ptr<LinkEnd> ended;
};

class Links {
 public:
  virtual ~Links() = default;
  // kInvalidArgument (invalid_expiry, invalid_link, invalid_content_type), kExhausted
  // (too_many_links).
  virtual Task<IssuedLink> issue(Principal who, std::string ref, LinkSpec spec) = 0;
  // Those that can be used, oldest first.
  virtual Task<std::vector<Link>> list(Principal who, std::string ref) = 0;
  virtual Task<void> withdraw(Principal who, std::string ref,
                              LinkId id) = 0;  // kNotFound (link_not_found)
  // Withdraws the links of one port (0: of files), or all, and returns their number.
  virtual Task<std::uint32_t> withdraw_all(Principal who, std::string ref,
                                           std::optional<std::uint16_t> port) = 0;
  // Returns what a token opens at this sandbox and port (0: a file). Fails kUnauthenticated
  // (unknown_link), also for a token of another sandbox or port, and kPermissionDenied
  // (link_expired).
  virtual Result<OpenLink> use(std::string_view token, const SandboxId& sandbox,
                               std::uint16_t port) = 0;
  // Looks at what is in use: called as often as an end may be late. `key_lives`: whether the key
  // that made it still could.
  virtual void end_lapsed(const std::function<bool(const Link& link)>& key_lives) = 0;
};

}  // namespace cay::core
