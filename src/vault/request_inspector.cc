#include "vault/request_inspector.h"

#include <utility>

#include "base/ascii.h"
#include "gate/requests.h"
#include "http/request_head.h"
#include "http/text.h"
#include "vault/rules.h"

namespace cay::vault {
namespace {

namespace bhttp = http::beast::http;

constexpr std::size_t kMostFields = 128;  // as for requests to the daemon

Error bad_request(std::string why) {
  return {Code::kInvalidArgument, "bad_request", std::move(why), 0};
}

template <class Head>
std::size_t size_of(const Head& head) {
  std::size_t out = head.method_string().size() + head.target().size();
  for (const auto& field : head) out += field.name_string().size() + field.value().size();
  return out;
}

}  // namespace

Error rules_unknown() {
  return {
      Code::kUnavailable, "rules_unknown",
      "the broker has no rules of this sandbox: they were taken away, or it cannot open what it "
      "kept of them and the daemon has not sent them again",
      0};
}

RequestInspector::RequestInspector(const Grants& grants, EncodingCache& encodings,
                                   const wire::BrokerHello& hello)
    : grants_(grants),
      encodings_(encodings),
      sandbox_id_(hello.sandbox_id),
      host_(hello.host),
      port_(hello.port),
      authorization_(hello.host, hello.port) {}

Result<InspectedRequest> RequestInspector::inspect(GuestConnection::Parser& parser,
                                                   RelayNotes& notes) {
  framing_unclear_ = false;
  const auto granted = grants_.of(sandbox_id_);
  if (!granted) return rules_unknown();
  auto& message = parser.get();
  ClientRequest asked;
  asked.host = host_;
  asked.port = port_;
  asked.method = std::string(message.method_string());
  asked.target = std::string(message.target());
  if (host_.empty()) {
    const ResolvedRule meant = resolve_rule(granted->grant, asked.target);
    notes.asked_of(meant.rule, meant.to ? meant.to->host : "", meant.to ? meant.to->port : port_);
  }
  for (const auto& field : message) {
    if (asked.headers.items().size() >= kMostFields)
      return bad_request("the request has more than 128 headers");
    asked.headers.add(std::string(field.name_string()), std::string(field.value()));
  }
  if (auto framing = http::bad_framing_of(asked.headers, message.version())) {
    framing_unclear_ = true;
    return bad_request(framing->error.message);
  }
  if (!parser.is_done() && gate::takes_no_body(asked.method)) {
    return bad_request(
        "a request of that method has no body: many servers would take it for another request");
  }
  InspectedRequest out;
  out.method = asked.method;
  out.wants_websocket = http::list_has(asked.headers.get("Upgrade").value_or(""), "websocket") &&
                        message.method() == bhttp::verb::get;
  CAY_TRY(out.rewritten, rewrite(granted->grant, asked, unsealing()));
  out.awaits_continue = equals_ignoring_case(message[bhttp::field::expect], "100-continue");
  out.head_bytes = size_of(message);
  message.clear();
  server_ = out.rewritten.to.host;
  CAY_CHECK(add_secrets_of(granted->grant));
  authorization_.begin(std::move(asked), out.rewritten);
  return out;
}

void RequestInspector::end() {
  authorization_.end();
  server_.clear();
  secrets_ = {};
}

bool RequestInspector::may_stay(const Granted* now) {
  const bool is_valid =
      authorization_.is_valid(now == nullptr ? nullptr : &now->grant, unsealing());
  return is_valid && (server_.empty() || add_secrets_of(now->grant).has_value());
}

// Adds to the secrets that the scanner looks for. Earlier ones stay.
Result<void> RequestInspector::add_secrets_of(const wire::VaultGrant& grant) {
  CAY_TRY(const auto secrets, secrets_of_host(grant, server_, unsealing()));
  secrets_ = encodings_.matcher(secrets_, secrets);
  return {};
}

Unseal RequestInspector::unsealing() const {
  return [this](const wire::VaultSecret& secret) { return grants_.unseal(secret); };
}

}  // namespace cay::vault
