// The headers that pass between the outside and a service, which is not trusted. Pure.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/service_names.h"
#include "http/message.h"

namespace cay::api {

// How the service was addressed. By a path, its answers share an origin with Cay's own API.
enum class ServiceForm { kHost, kPath };

inline constexpr std::string_view kLangsmithTokenHeader = "X-Langsmith-Sandbox-Service-Token";
inline constexpr std::string_view kDaytonaTokenHeader = "X-Daytona-Preview-Token";
inline constexpr std::string_view kTokenHeader = "X-Cay-Service-Token";

// The cookie that a browser shows for its service: with Secure and a prefix that no other host can
// set, over https.
std::string cookie_name(std::string_view scheme);
// The values of our cookie in this request; several are possible, as hosts above this one may set
// them.
std::vector<std::string> cookie_tokens(const http::RequestHead& head);

// Returns the headers for the service. `is_key` reports whether a text is one of Cay's API keys,
// which nobody inside may see.
http::Headers request_headers(const http::RequestHead& head, ServiceForm form,
                              const ServicePlace& place,
                              const std::function<bool(std::string_view)>& is_key);

// Returns the headers for the client. None counts beyond this service's own origin. By a path, none
// would let its pages act as Cay's.
http::Headers answer_headers(const http::Headers& from, ServiceForm form,
                             const ServicePlace& place);

// A page of another origin uses the rights of a browser that is logged in here. (With a token in a
// header, it could not.)
bool is_cross_origin(const http::RequestHead& head);

}  // namespace cay::api
