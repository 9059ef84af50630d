// Principal identifies a caller and has the scope of the caller's key. The server authenticates,
// and the core decides what the caller may do.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"
#include "model/trace.h"

namespace cay {

// The scope of a key. The words are those of `cay key create --scope`.
enum class KeyScope : std::uint8_t {
  kAdmin = 0,  // "admin": the host too
  kCreate,     // "create": everything in its tenant
  kRead,       // "read": looks at everything in its tenant, changes nothing
  kUse,        // "use": commands, files and ways in of one sandbox
  kMonitor,    // "monitor": looks at the host, and at nothing of a tenant's
};

// The right that a route requires of a key.
enum class Right : std::uint8_t {
  kAny = 0,    // any key: the answer contains nothing of any tenant
  kRead,       // looks at the tenant's
  kReadOne,    // looks at one sandbox
  kUseOne,     // acts in one sandbox
  kManage,     // makes, changes and deletes sandboxes; the default of a route
  kWatchHost,  // looks at the host: the answer concerns all tenants together
  kHost,       // administers the host
};

std::string_view text_of(KeyScope scope);
std::optional<KeyScope> scope_of(std::string_view text);
bool allows(KeyScope scope, Right right);

struct Principal {
  TenantId tenant;       // every lookup is inside it
  std::string key_name;  // for created_by and the audit record; never the key
  TraceContext trace{};  // of the request, if it has one: the parent of what is done for it
  KeyScope scope = KeyScope::kCreate;
  std::optional<SandboxId> only{};  // of kUse: every other sandbox is not there

  // The key of the data directory (or CAY_API_KEY), and those made with --scope admin.
  bool is_operator() const { return scope == KeyScope::kAdmin; }
  // Returns whether its requests may wake a sandbox and keep it awake.
  bool may_wake() const { return scope != KeyScope::kRead; }
};

}  // namespace cay
