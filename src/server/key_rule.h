// Reads the API key of a request by the rule of its facade (http/facade.h).
#pragma once
#include <optional>
#include <string>

#include "http/facade.h"
#include "http/message.h"

namespace cay::server {

// Returns Cay's own rule: X-Api-Key, or Authorization: Bearer.
const http::KeyRule& own_key_rule();

// Returns the rule of a facade, or Cay's own if the facade declares none.
const http::KeyRule& key_rule_of(const http::Facade& facade);

// Returns the key that the request carries where the rule looks for it. It is not checked yet.
std::optional<std::string> key_of(const http::RequestHead& head, const http::KeyRule& rule);

// Returns whether the request carries a key that only its own program can have put there. Browsers
// send the credentials of `Authorization: Basic` by themselves, also for the pages of others.
bool shows_key_by_itself(const http::RequestHead& head, const http::KeyRule& rule);

// Returns how to send a key, for people: "send it as X-Api-Key or as Authorization: Bearer".
std::string how_to_send(const http::KeyRule& rule);

}  // namespace cay::server
