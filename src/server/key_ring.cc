#include "server/key_ring.h"

#include <algorithm>

namespace cay::server {

std::string new_key() { return "cay_" + new_secret(); }

Result<void> KeyRing::add(KeyRecord record) {
  if (!is_valid_name(record.name) || !is_valid_name(record.tenant)) {
    return Error{Code::kInvalidArgument, "bad_key_name",
                 "names of keys and tenants are 1-63 letters, digits, '.', '_' or '-'", 0};
  }
  if (record.only.has_value() != (record.scope == KeyScope::kUse)) {
    return Error{
        Code::kInvalidArgument, "bad_key_scope",
        "a key of the scope use is for one sandbox, and no other key is: give both or neither", 0};
  }
  for (const auto& known : records_) {
    if (known.name == record.name) {
      return Error{Code::kAlreadyExists, "key_name_in_use",
                   "there is a key named '" + record.name + "' already", 0};
    }
  }
  records_.push_back(std::move(record));
  return {};
}

Result<Principal> KeyRing::find(const KeyHash& hash) const {
  const UnixMillis now = clock_->wall();
  const KeyRecord* found = nullptr;
  bool in_time = false, was_rotated = false;
  for (const auto& record : records_) {
    if (equal_hashes(record.hash, hash)) {
      found = &record;
      in_time = record.lives(now);
    }
    if (record.older && equal_hashes(record.older->hash, hash)) {
      found = &record;
      in_time = record.lives(now) && now < record.older->until;
      was_rotated = record.lives(now);
    }
  }
  if (found == nullptr) {
    return Error{Code::kUnauthenticated, "unknown_key",
                 "this API key is not known: use the one in the data directory's api-key file", 0};
  }
  if (!in_time && was_rotated) {
    return Error{
        Code::kUnauthenticated, "expired_key",
        "this API key is the former one of '" + found->name +
            "', which was rotated, and the time for which both were good is over: use the new one",
        0};
  }
  if (!in_time) {
    return Error{
        Code::kUnauthenticated, "expired_key",
        "this API key's time is over: whoever runs the daemon makes another with `cay key rotate " +
            found->name + " --expires 30d`",
        0};
  }
  return Principal{.tenant = TenantId(found->tenant),
                   .key_name = found->name,
                   .scope = found->scope,
                   .only = found->only};
}

bool KeyRing::opens(const KeyHash& hash) const {
  const UnixMillis now = clock_->wall();
  return std::ranges::any_of(records_, [&](const KeyRecord& one) {
    if (!one.lives(now)) return false;
    return equal_hashes(one.hash, hash) ||
           (one.older && equal_hashes(one.older->hash, hash) && now < one.older->until);
  });
}

bool KeyRing::stands_for(const Link& link) const {
  const UnixMillis now = clock_->wall();
  for (const auto& record : records_) {
    if (record.name != link.created_by || record.tenant != link.tenant.get()) continue;
    const bool may =
        allows(record.scope, Right::kUseOne) && (!record.only || *record.only == link.sandbox);
    return may && record.lives(now) && link.created_at >= record.since;
  }
  return false;
}

}  // namespace cay::server
