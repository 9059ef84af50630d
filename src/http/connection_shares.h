// ConnectionShares: the number of connections that each caller has and may have. No caller and no
// number of callers can take all of them: the rest is for new clients that are not let in yet.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/message.h"

namespace cay::http {

struct ShareLimits {
  std::size_t per_link = 512;
  std::size_t all_links =
      2048;  // then the tenant whose links have the most gives one up for one whose have less
  std::size_t per_key = 1536;  // over what dispatch has at work for one: those that are kept for
                               // the next request count
  std::size_t all =
      3584;  // of all that were let in: then whoever has the most gives one up for who has less
};

// Connections that count together: those of one key, and the links of one tenant, who can make any
// number.
struct Share {
  Caller::Kind kind = Caller::Kind::kKey;
  std::string name;  // of a key its id, of links the tenant
  bool operator==(const Share&) const = default;
};
Share share_of(const Caller& caller);

class ConnectionShares {
 public:
  explicit ConnectionShares(ShareLimits limits) : limits_(limits) {}

  // One connection, which was `held`'s, is `now`'s. kExhausted (too_many_connections): it stays as
  // it was. A share: one of its connections has to be given up for it.
  Result<std::optional<Share>> take(std::optional<Caller>& held, Caller now);
  void give_back(std::optional<Caller>& held);

 private:
  using Counts = std::map<std::string, std::size_t>;  // none without a connection

  std::size_t all() const { return all_links_ + all_keys_; }
  std::size_t count_of(const Share& share) const;
  Share heaviest(bool links_alone) const;
  // Returns the share that gives one up for `to`, or nothing if none has so much more that it
  // should.
  std::optional<Share> giver(const Share& to, bool links_alone) const;

  ShareLimits limits_;
  Counts links_, keys_, tenants_;  // tenants_: of their links
  std::size_t all_links_ = 0, all_keys_ = 0;
};

}  // namespace cay::http
