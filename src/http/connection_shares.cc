#include "http/connection_shares.h"

#include <algorithm>
#include <utility>

namespace cay::http {
namespace {

using Counts = std::map<std::string, std::size_t>;

std::size_t count_of(const Counts& counts, const std::string& id) {
  const auto found = counts.find(id);
  return found == counts.end() ? 0 : found->second;
}

Error too_many(std::string message) { return {Code::kExhausted, "too_many_connections", std::move(message), 0}; }

}  // namespace

Caller ConnectionShares::heaviest() const {
  Caller out;
  std::size_t most = 0;
  for (const auto& [kind, counts] : {std::pair{Caller::Kind::kKey, &keys_}, std::pair{Caller::Kind::kLink, &links_}}) {
    for (const auto& [id, count] : *counts) {
      if (count > most) {
        most = count;
        out = {kind, id};
      }
    }
  }
  return out;
}

Result<std::optional<Caller>> ConnectionShares::take(std::optional<Caller>& held, Caller now) {
  std::optional<Caller> gives_up;
  if (held == now) return gives_up;
  const bool link = now.kind == Caller::Kind::kLink;
  const std::string whose = link ? "this link" : "this key";
  const std::size_t own = count_of(link ? links_ : keys_, now.id);
  const std::size_t most = link ? limits_.per_link : limits_.per_key;
  if (own >= most) return too_many(whose + " has " + std::to_string(most) + " connections open: close some");
  const bool another = link && !(held && held->kind == Caller::Kind::kLink);
  if (another && all_links_ >= limits_.all_links) {
    return too_many("links have " + std::to_string(limits_.all_links) + " connections open, which is all they may: try again later");
  }
  if (!held && all() >= limits_.all) {
    Caller heavy = heaviest();
    // Even after it the other one has no less.
    if (count_of(heavy.kind == Caller::Kind::kLink ? links_ : keys_, heavy.id) <= own + 1) {
      return too_many("all connections are in use, and " + whose + " has its share of them (" + std::to_string(own) + "): " +
                      (own > 0 ? "close some" : "try again later"));
    }
    gives_up = std::move(heavy);
  }
  give_back(held);
  ++(link ? links_ : keys_)[now.id];
  ++(link ? all_links_ : all_keys_);
  held = std::move(now);
  return gives_up;
}

void ConnectionShares::give_back(std::optional<Caller>& held) {
  if (!held) return;
  const bool link = held->kind == Caller::Kind::kLink;
  auto& counted = link ? links_ : keys_;
  const auto found = counted.find(held->id);
  if (--found->second == 0) counted.erase(found);
  --(link ? all_links_ : all_keys_);
  held.reset();
}

}  // namespace cay::http
