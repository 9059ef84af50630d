// Link: a right to one thing in one sandbox, for whoever has its token: a service on a port, or one
// file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sandbox.h"
#include "model/secret.h"

namespace cay {

using LinkId = Tagged<struct LinkIdTag>;  // a UUID, lower case, made by Cay

// The request for a link.
struct LinkSpec {
  std::uint16_t port = 0;  // a service; 0: a file
  std::string path{}, user{},
      workdir{};               // a file: as whom it is read, and where relative paths begin
  std::string content_type{};  // a file's; empty: application/octet-stream
  bool inline_shown = false;   // a file: shown by browsers, not saved
  std::optional<std::int64_t> lifetime_s{};  // absent: until it is withdrawn (files only)

  bool is_service() const { return port != 0; }
};

struct Link {
  LinkId id;
  SandboxId sandbox;
  TenantId tenant;
  LinkSpec spec;
  std::string created_by;  // the key that made it: it ends with that key
  UnixMillis created_at = 0;
  std::optional<UnixMillis> expires_at;    // as shown
  std::optional<LifeMillis> expires_mark;  // the same moment on the timeline, which counts
  SecretHash hash{};                       // of the token's secret
};

// The token of a link: "cayl_", the id without its dashes, "_", the secret. Only its bearer has the
// secret.
std::string link_token(const LinkId& id, std::string_view secret);
struct LinkToken {
  LinkId id;
  std::string_view secret;  // into the text that was read
};
std::optional<LinkToken> read_link_token(std::string_view text);

}  // namespace cay
