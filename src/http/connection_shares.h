// ConnectionShares: how many connections each caller has, and may have, so that no one takes all of them.
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
};

class ConnectionShares {
 public:
  explicit ConnectionShares(ShareLimits limits) : limits_(limits) {}

  // One connection, which was `held`'s, is `now`'s. kExhausted (too_many_connections): it stays as it was.
  Result<void> take(std::optional<Caller>& held, Caller now);
  void give_back(std::optional<Caller>& held);

 private:
  ShareLimits limits_;
  std::map<std::string, std::size_t> links_, keys_;  // none without a connection
  std::size_t all_links_ = 0;
};

}  // namespace cay::http
