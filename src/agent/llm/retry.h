// The times between two tries of a request.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "http/message.h"

namespace cay::agent {

// Reads an HTTP date of the preferred form, "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), as
// seconds since 1970.
std::optional<std::int64_t> from_http_date(std::string_view text);

// Returns the time that a server wants to pass before the next request: the header retry-after-ms,
// or Retry-After as seconds or as a date. A date counts from the server's own Date, or from `now`.
// At most a day.
std::optional<Millis> retry_after(const http::Headers& headers, UnixMillis now);

// Returns the header x-should-retry, by which a server knows better than its status.
std::optional<bool> should_retry(const http::Headers& headers);

// Returns the pause before try number `next` (from 2). It doubles up to 8 s, and is less by up to a
// quarter by `random`, from 0 to 1. `wanted` by the server is kept, and exceeded by little.
Millis pause_before(std::uint32_t next, std::optional<Millis> wanted, double random);

}  // namespace cay::agent
