// RequestInspector: decides whether a guest's request may go on, and how it reads then.
//
// It knows the sandbox's grant, the authorization of the connection and the secrets that the server
// may know. It does no I/O.
#pragma once
#include <string>

#include "vault/connection_authorization.h"
#include "vault/grants.h"
#include "vault/guest_connection.h"
#include "vault/relay_notes.h"
#include "vault/secret_matcher.h"
#include "wire/vault.h"

namespace cay::vault {

// A request that may go on.
struct InspectedRequest {
  Rewritten rewritten;
  std::string method;
  std::size_t head_bytes = 0;  // that the guest chose: they may carry something out
  bool wants_websocket = false;
  bool awaits_continue = false;  // the guest sends the body after a status of 100
};

class RequestInspector {
 public:
  RequestInspector(const Grants& grants, EncodingCache& encodings, const wire::BrokerHello& hello);

  // Takes the headers out of the parser. `notes` learns which rule of way base_url is meant.
  //
  // Fails as rewrite() does, and kInvalidArgument (bad_request), kUnavailable (rules_unknown).
  Result<InspectedRequest> inspect(GuestConnection::Parser& parser, RelayNotes& notes);
  // The end of the body of the last request was unclear, so the connection cannot go on.
  bool is_framing_unclear() const { return framing_unclear_; }
  // The request is over.
  void end();

  // Returns whether the connection may stay under the grant `now`. If so, the secrets of the new
  // grant are looked for as well.
  bool may_stay(const Granted* now);
  // The secrets that the response is scanned for. The reference is valid as long as the inspector.
  const SecretMatcher& secrets() const { return secrets_; }

 private:
  Result<void> add_secrets_of(const wire::VaultGrant& grant);
  Unseal unsealing() const;

  const Grants& grants_;
  EncodingCache& encodings_;
  const std::string sandbox_id_, host_;
  const std::uint16_t port_;
  ConnectionAuthorization authorization_;
  std::string server_;     // of the request under way; empty if there is none
  SecretMatcher secrets_;  // that this server may know
  bool framing_unclear_ = false;
};

Error rules_unknown();

}  // namespace cay::vault
