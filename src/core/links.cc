#include "core/links.h"

#include <algorithm>
#include <utility>

#include "core/capable.h"
#include "core/errors.h"

namespace cay::core {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kLongestService = 30 * kDay;
constexpr std::int64_t kLongestFile = 36'500 * kDay;
constexpr std::size_t kLongestPath = 4095;  // PATH_MAX
constexpr std::size_t kLongestType = 255;

// No parameter of it may end the header that it becomes.
bool is_media_type(std::string_view text) {
  const auto slash = text.find('/');
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain && text.size() <= kLongestType && slash != std::string_view::npos && slash > 0 &&
         slash + 1 < text.size();
}

Result<void> check(const LinkSpec& spec) {
  const std::int64_t longest = spec.is_service() ? kLongestService : kLongestFile;
  if (spec.lifetime_s && (*spec.lifetime_s < 1 || *spec.lifetime_s > longest)) {
    return invalid("invalid_expiry", std::string(spec.is_service() ? "a service's" : "a file's") +
                                         " link lives from 1 second to " +
                                         std::to_string(longest / kDay) + " days (" +
                                         std::to_string(longest) + " seconds)");
  }
  if (spec.is_service()) {
    if (!spec.lifetime_s)
      return invalid("invalid_expiry", "a service's link has an end: give it a lifetime");
    return {};
  }
  if (spec.path.empty())
    return invalid("invalid_link", "a link is for a port (1 to 65535) or for a path");
  if (spec.path.size() > kLongestPath || spec.path.find('\0') != std::string::npos) {
    return invalid("invalid_link", "the path is too long, or has a NUL in it");
  }
  if (!spec.content_type.empty() && !is_media_type(spec.content_type)) {
    return invalid("invalid_content_type",
                   "a content type is TYPE/SUBTYPE, such as text/html; charset=utf-8");
  }
  return {};
}

Error link_not_found(const LinkId& id) {
  return {Code::kNotFound, "link_not_found",
          "no link " + id.get() + " of this sandbox: list them to see the ids", 0};
}

// One answer for all of these: nobody learns which sandboxes and links there are.
Error unknown_link() {
  return {Code::kUnauthenticated, "unknown_link",
          "this link is not known here, or was withdrawn: ask for a new one", 0};
}

}  // namespace

Result<void> LinkVerbs::open() {
  CAY_TRY(auto rows, registry_->store().links());
  for (auto& link : rows) {
    if (!registry_->by_id(link.sandbox)) continue;
    Kept kept{std::move(link), std::make_shared<LinkEnd>(registry_->loop())};
    auto& of_one = links_[kept.link.sandbox];
    const LinkId id = kept.link.id;
    of_one.emplace(id, std::move(kept));
  }
  return {};
}

bool LinkVerbs::expired(const Link& link) const {
  return link.expires_mark && *link.expires_mark <= registry_->time().now();
}

Task<IssuedLink> LinkVerbs::issue(Principal who, std::string ref, LinkSpec spec) {
  CAY_CO_CHECK(check(spec));
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  if (spec.is_service()) {
    CAY_CO_CHECK(check_tunnels(*entry));
  }
  auto& of_one = links_[entry->row.id];
  if (of_one.size() >= kMost) {  // those that nobody can use any more make room
    std::vector<LinkId> old;
    for (const auto& [id, kept] : of_one) {
      if (expired(kept.link)) old.push_back(id);
    }
    CAY_CO_CHECK(erase(of_one, old));
  }
  if (of_one.size() >= kMost) {
    co_return Error{Code::kExhausted, "too_many_links",
                    "this sandbox has " + std::to_string(kMost) + " links: withdraw some", 0};
  }
  const std::string secret = new_secret();
  Link link;
  link.id = LinkId(new_uuid());
  link.sandbox = entry->row.id;
  link.tenant = entry->row.tenant;
  link.created_by = who.key_name;
  link.created_at = registry_->clock().wall();
  if (spec.lifetime_s) {
    link.expires_at = link.created_at + *spec.lifetime_s * 1000;
    link.expires_mark = registry_->time().now() + *spec.lifetime_s * 1000;
  }
  link.spec = std::move(spec);
  link.hash = hash_secret(secret);
  CAY_CO_CHECK(registry_->store().put_link(link));
  of_one[link.id] = Kept{link, std::make_shared<LinkEnd>(registry_->loop())};
  std::string token = link_token(link.id, secret);
  co_return IssuedLink{std::move(link), std::move(token)};
}

Task<std::vector<Link>> LinkVerbs::list(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find(who, ref));
  std::vector<Link> out;
  if (const auto found = links_.find(entry->row.id); found != links_.end()) {
    for (const auto& [id, kept] : found->second) {
      if (!expired(kept.link)) out.push_back(kept.link);
    }
  }
  std::sort(out.begin(), out.end(), [](const Link& a, const Link& b) {
    return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
  });
  co_return out;
}

Result<void> LinkVerbs::erase(OfOne& links, const std::vector<LinkId>& ids) {
  if (ids.empty()) return {};
  CAY_CHECK(registry_->store().erase_links(ids));
  for (const auto& id : ids) {
    const auto found = links.extract(id);
    if (found) found.mapped().ended->set();  // what is open through it is cut
  }
  return {};
}

Task<void> LinkVerbs::withdraw(Principal who, std::string ref, LinkId id) {
  CAY_CO_TRY(const auto entry, registry_->find(who, ref));
  const auto of_one = links_.find(entry->row.id);
  if (of_one == links_.end() || !of_one->second.contains(id)) co_return link_not_found(id);
  co_return erase(of_one->second, {id});
}

Task<std::uint32_t> LinkVerbs::withdraw_all(Principal who, std::string ref,
                                            std::optional<std::uint16_t> port) {
  CAY_CO_TRY(const auto entry, registry_->find(who, ref));
  const auto of_one = links_.find(entry->row.id);
  std::vector<LinkId> ids;
  if (of_one != links_.end()) {
    for (const auto& [id, kept] : of_one->second) {
      if (!port || kept.link.spec.port == *port) ids.push_back(id);
    }
    CAY_CO_CHECK(erase(of_one->second, ids));
  }
  co_return static_cast<std::uint32_t>(ids.size());
}

Result<OpenLink> LinkVerbs::use(std::string_view token, const SandboxId& sandbox,
                                std::uint16_t port) {
  const auto read = read_link_token(token);
  if (!read) return unknown_link();
  const auto of_one = links_.find(sandbox);
  if (of_one == links_.end()) return unknown_link();
  const auto found = of_one->second.find(read->id);
  if (found == of_one->second.end()) return unknown_link();
  const Kept& kept = found->second;
  // The secret first: who has none learns nothing of what the link is for.
  const bool right = equal_hashes(kept.link.hash, hash_secret(read->secret));
  if (!right || kept.link.spec.port != port) return unknown_link();
  if (expired(kept.link)) {
    return Error{Code::kPermissionDenied, "link_expired",
                 "this link has expired: ask for a new one", 0};
  }
  in_use_.try_emplace(kept.link.id, sandbox);
  return OpenLink{kept.link, kept.ended};
}

void LinkVerbs::end_lapsed(const std::function<bool(const Link& link)>& key_lives) {
  for (auto next = in_use_.begin(); next != in_use_.end();) {
    const auto at = next++;
    const auto of_one = links_.find(at->second);
    const auto found = of_one == links_.end() ? OfOne::iterator() : of_one->second.find(at->first);
    const bool known = of_one != links_.end() && found != of_one->second.end();
    if (!known || found->second.ended.use_count() == 1) {  // nobody has it open
      in_use_.erase(at);
      continue;
    }
    Kept& kept = found->second;
    std::optional<Error> why;
    if (kept.link.spec.is_service() && expired(kept.link))
      why = Error{Code::kCancelled, "link_expired", "this link has expired: ask for a new one", 0};
    if (!key_lives(kept.link))
      why = Error{Code::kCancelled, "link_withdrawn", "the key that made this link was removed", 0};
    if (!why) continue;
    in_use_.erase(at);
    // A file of keys may be put back, and the link with its key.
    std::exchange(kept.ended, std::make_shared<LinkEnd>(registry_->loop()))->end(*std::move(why));
  }
}

void LinkVerbs::forget(const SandboxId& sandbox) {
  const auto found = links_.extract(sandbox);
  if (!found) return;
  for (const auto& [id, kept] : found.mapped()) kept.ended->set();
}

}  // namespace cay::core
