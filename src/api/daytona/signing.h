// The keys by which clients sign URLs of files (protocol reference, section 4).
#pragma once
#include <string>

#include "api/daytona/plane.h"
#include "model/principal.h"

namespace cay::api::daytona {

// The principal of a URL that the sandbox's present key signs. It may use that sandbox alone.
struct SignedAccess {
  Principal who;
  std::string key;
};
// `sandbox`: an id. Fails kNotFound, also if the sandbox has no key yet.
Task<SignedAccess> signing_access(core::Cay& cay, std::string sandbox);

// The routes. The answer is a bare JSON string.
Task<http::Response> get_signing_key(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> rotate_signing_key(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
