#include "http/connection_shares.h"

#include <utility>

namespace cay::http {

Result<void> ConnectionShares::take(std::optional<Caller>& held, Caller now) {
  if (held == now) return {};
  const bool link = now.kind == Caller::Kind::kLink;
  const auto& counted = link ? links_ : keys_;
  const auto found = counted.find(now.id);
  const std::size_t most = link ? limits_.per_link : limits_.per_key;
  if (found != counted.end() && found->second >= most) {
    return Error{Code::kExhausted, "too_many_connections",
                 std::string(link ? "this link" : "this key") + " has " + std::to_string(most) + " connections open: close some", 0};
  }
  const bool another = link && !(held && held->kind == Caller::Kind::kLink);
  if (another && all_links_ >= limits_.all_links) {
    return Error{Code::kExhausted, "too_many_connections",
                 "links have " + std::to_string(limits_.all_links) + " connections open, which is all they may: try again later", 0};
  }
  give_back(held);
  ++(link ? links_ : keys_)[now.id];
  if (link) ++all_links_;
  held = std::move(now);
  return {};
}

void ConnectionShares::give_back(std::optional<Caller>& held) {
  if (!held) return;
  const bool link = held->kind == Caller::Kind::kLink;
  auto& counted = link ? links_ : keys_;
  const auto found = counted.find(held->id);
  if (--found->second == 0) counted.erase(found);
  if (link) --all_links_;
  held.reset();
}

}  // namespace cay::http
