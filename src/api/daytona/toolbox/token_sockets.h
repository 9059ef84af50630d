// WebSockets of clients that can set no header (browsers, Deno). They send the token of a preview
// link of port 1 as DAYTONA_SANDBOX_AUTH_KEY in the query (protocol reference, section 1). The port
// is the clients' own choice, and no service is shown there, so that no link to a service opens a
// shell.
#pragma once
#include "api/daytona/config.h"
#include "core/cay.h"
#include "http/router.h"

namespace cay::api::daytona {

// `router` sends such requests to a table of their own: the same paths need a key otherwise.
// References outlive it.
void divert_token_sockets(http::Router& router, core::Cay& cay, const DaytonaConfig& config);

}  // namespace cay::api::daytona
