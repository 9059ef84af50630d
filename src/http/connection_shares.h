// ConnectionShares: how many connections each caller has, and may have, so that no one takes all of them, and no number of
// callers together: what is left over is for those who come and were not let in yet.
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
  std::size_t all_links = 2048;
  std::size_t per_key = 1536;  // over what dispatch has at work for one: those that are kept for the next request count
  std::size_t all = 3584;        // of all that were let in: then whoever has the most gives one up for who has less
};

class ConnectionShares {
 public:
  explicit ConnectionShares(ShareLimits limits) : limits_(limits) {}

  // One connection, which was `held`'s, is `now`'s. kExhausted (too_many_connections): it stays as it was. Somebody: who has
  // to give a connection up for it.
  Result<std::optional<Caller>> take(std::optional<Caller>& held, Caller now);
  void give_back(std::optional<Caller>& held);

 private:
  std::size_t all() const { return all_links_ + all_keys_; }
  Caller heaviest() const;

  ShareLimits limits_;
  std::map<std::string, std::size_t> links_, keys_;  // none without a connection
  std::size_t all_links_ = 0, all_keys_ = 0;
};

}  // namespace cay::http
