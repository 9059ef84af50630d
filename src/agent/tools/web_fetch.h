// web_fetch(): one page of the web, fetched outside the sandbox under a WebPolicy.
#pragma once
#include <string>
#include <string_view>

#include "agent/tools/web_policy.h"
#include "async/task.h"

namespace cay::agent {

struct WebUrl {
  std::string scheme, host, origin, target;  // "https", "a.b", "https://a.b:8443", "/x?y"
};
// Fails kInvalidArgument (bad_url): not http or https, or with a user name in it.
Result<WebUrl> parse_web_url(std::string_view url);

// Whether `hosts` allows the host: by its name, by "*.parent", or by "*".
bool allows_host(const WebPolicy& policy, std::string_view host);

struct WebPage {
  std::string url;  // after redirects
  int status = 0;
  std::string type;  // of the content, without its parameters
  std::string body;
  bool truncated = false;
};

// Follows up to five redirects, each under the policy. Fails kPermissionDenied (host_not_allowed,
// special_network), kDeadlineExceeded, and as http::Client. `key` is sent as a bearer token to the
// first host alone.
Task<WebPage> web_fetch(WebPolicy policy, std::string url, std::string key = {});

// The text of a page for a model. Empty: its content is no text.
std::string page_text(const WebPage& page);

}  // namespace cay::agent
