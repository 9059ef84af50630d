#include "http/connection_shares.h"

#include <algorithm>
#include <utility>

namespace cay::http {
namespace {

std::size_t count_in(const std::map<std::string, std::size_t>& counts, const std::string& id) {
  const auto found = counts.find(id);
  return found == counts.end() ? 0 : found->second;
}

void drop_one(std::map<std::string, std::size_t>& counts, const std::string& id) {
  const auto found = counts.find(id);
  if (--found->second == 0) counts.erase(found);
}

Error too_many(std::string message) {
  return {Code::kExhausted, "too_many_connections", std::move(message), 0};
}

}  // namespace

Share share_of(const Caller& caller) {
  return {caller.kind,
          caller.kind == Caller::Kind::kKey ? caller.id : caller.id.substr(0, caller.id.find('/'))};
}

std::size_t ConnectionShares::count_of(const Share& share) const {
  return count_in(share.kind == Caller::Kind::kLink ? tenants_ : keys_, share.name);
}

Share ConnectionShares::heaviest(bool links_alone) const {
  Share out;
  std::size_t most = 0;
  for (const auto& [kind, counts] :
       {std::pair{Caller::Kind::kKey, &keys_}, std::pair{Caller::Kind::kLink, &tenants_}}) {
    if (links_alone && kind == Caller::Kind::kKey) continue;
    for (const auto& [name, count] : *counts) {
      if (count > most) {
        most = count;
        out = {kind, name};
      }
    }
  }
  return out;
}

std::optional<Share> ConnectionShares::giver(const Share& to, bool links_alone) const {
  Share heavy = heaviest(links_alone);
  if (count_of(heavy) <= count_of(to) + 1)
    return std::nullopt;  // even after it the other one has no less
  return heavy;
}

Result<std::optional<Share>> ConnectionShares::take(std::optional<Caller>& held, Caller now) {
  std::optional<Share> gives_up;
  if (held == now) return gives_up;
  const bool link = now.kind == Caller::Kind::kLink;
  const std::string whose = link ? "this link" : "this key";
  const std::size_t most = link ? limits_.per_link : limits_.per_key;
  if (count_in(link ? links_ : keys_, now.id) >= most)
    return too_many(whose + " has " + std::to_string(most) + " connections open: close some");
  const Share share = share_of(now);
  const std::size_t own = count_of(share);
  // How many its tenant has is no matter of whoever holds a link.
  const std::string has_its_share =
      link ? "who made this link has their share of them: try again later"
           : "this key has its share of them (" + std::to_string(own) +
                 "): " + (own > 0 ? "close some" : "try again later");
  const bool another = link && !(held && held->kind == Caller::Kind::kLink);
  if (another && all_links_ >= limits_.all_links) {
    gives_up = giver(share, true);
    if (!gives_up)
      return too_many("links have " + std::to_string(limits_.all_links) +
                      " connections open, which is all they may, and " + has_its_share);
  } else if (!held && all() >= limits_.all) {
    gives_up = giver(share, false);
    if (!gives_up) return too_many("all connections are in use, and " + has_its_share);
  }
  give_back(held);
  ++(link ? links_ : keys_)[now.id];
  if (link) ++tenants_[share.name];
  ++(link ? all_links_ : all_keys_);
  held = std::move(now);
  return gives_up;
}

void ConnectionShares::give_back(std::optional<Caller>& held) {
  if (!held) return;
  const bool link = held->kind == Caller::Kind::kLink;
  drop_one(link ? links_ : keys_, held->id);
  if (link) drop_one(tenants_, share_of(*held).name);
  --(link ? all_links_ : all_keys_);
  held.reset();
}

}  // namespace cay::http
