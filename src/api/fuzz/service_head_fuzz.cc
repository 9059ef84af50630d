// The headers that pass between the outside and a service: nothing of a connection's own, no key,
// no token, no cookie of Cay's. By a path nothing passes that would count for Cay's origin.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/gateway/headers.h"
#include "base/ascii.h"
#include "base/assert.h"

namespace {

using namespace cay::api;
namespace http = cay::http;

// "name: value" lines; the first is the host, the second the path.
http::RequestHead head_in(std::string_view in) {
  http::RequestHead head;
  head.method = "GET";
  head.peer = "[2001:db8::1]:1";
  const auto line = [&in] {
    const auto end = std::min(in.find('\n'), in.size());
    const auto out = in.substr(0, end);
    in.remove_prefix(std::min(end + 1, in.size()));
    return out;
  };
  head.host = std::string(line());
  if (head.host.starts_with('s')) head.scheme = "https";
  while (!in.empty()) {
    const auto field = line();
    const auto colon = std::min(field.find(':'), field.size());
    head.headers.add(std::string(field.substr(0, colon)),
                     std::string(cay::trimmed(field.substr(std::min(colon + 1, field.size())))));
  }
  return head;
}

bool is_key(std::string_view text) { return text == "key"; }

void expect_no_claims(const http::Headers& headers) {
  for (const auto& [name, value] : headers.items()) {
    for (const std::string_view ours :
         {"Connection", "Transfer-Encoding", "Content-Length", "Upgrade", "Proxy-Authorization"}) {
      CAY_ASSERT(!cay::equals_ignoring_case(name, ours));
    }
    CAY_ASSERT(!cay::equals_ignoring_case(name, kTokenHeader));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const http::RequestHead head = head_in({reinterpret_cast<const char*>(data), size});
  ServiceNames names;
  names.domain = "box.example";
  const bool address = head.host.starts_with('[') || head.host.find(':') != std::string::npos;
  CAY_ASSERT(address || names.is_service_host(head.host) == names.is_service_host(head.host + "."));
  if (const auto place = place_of_host(head.host, names))
    CAY_ASSERT(names.is_service_host(head.host) && !place->sandbox.get().empty());
  static_cast<void>(cookie_tokens(head));
  static_cast<void>(is_cross_origin(head));
  static const ServicePlace place{cay::SandboxId("0b4c1c2e-5f7a-4d53-9d0e-6a1f2b3c4d5e"), 8080};
  static_cast<void>(service_urls(names, head, place, "token"));
  static_cast<void>(download_url(names, head, place.sandbox, "token"));
  for (const ServiceForm form : {ServiceForm::kHost, ServiceForm::kPath}) {
    const auto asked = request_headers(head, form, place, is_key);
    expect_no_claims(asked);
    for (const auto& [name, value] : asked.items()) {
      CAY_ASSERT(!cay::equals_ignoring_case(name, "X_Real_IP") &&
                 !cay::equals_ignoring_case(name, "X_Forwarded_For"));
      CAY_ASSERT(!cay::equals_ignoring_case(name, "X-Api-Key") || value != "key");
      CAY_ASSERT(!cay::equals_ignoring_case(name, "Authorization") || value != "Bearer key");
      if (cay::equals_ignoring_case(name, "Cookie"))
        CAY_ASSERT(form == ServiceForm::kHost && !value.starts_with("cay_service=") &&
                   !value.starts_with("__Host-cay_service="));
    }
    const auto answered = answer_headers(head.headers, form, place);
    expect_no_claims(answered);
    for (const auto& [name, value] : answered.items()) {
      if (!cay::equals_ignoring_case(name, "Set-Cookie")) continue;
      CAY_ASSERT(form == ServiceForm::kHost && !value.starts_with("cay_service=") &&
                 !value.starts_with("__Host-cay_service="));
    }
  }
  return 0;
}
