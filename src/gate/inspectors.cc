#include "gate/inspectors.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "gate/handover.h"
#include "gate/requests.h"
#include "gate/socket_bytes.h"

namespace cay::gate {
namespace {

constexpr Millis kFirstBytesLimit{10'000};

Task<Shown> read_first_bytes_of(Descriptor& client, Proof proof, std::string& first) {
  for (std::size_t looked = 0;;) {
    Shown shown = read_first_bytes(proof, first, looked);
    looked = first.size();
    if (shown.state != Shown::State::kMore) co_return shown;
    const Received received = co_await receive(client, first, kMostFirstBytes - first.size());
    if (received != Received::kSome)
      co_return Error{Code::kCancelled, "guest_gone", "the client left before it named a host", 0};
  }
}

}  // namespace

Task<ResponseForm> read_response_form(Descriptor& client, std::string first) {
  for (std::size_t looked = 0;;) {
    const ResponseForm form = response_form(first, looked);
    looked = first.size();
    if (form != ResponseForm::kMore) co_return form;
    const Received received = co_await receive(client, first);
    if (received != Received::kSome) co_return ResponseForm::kNothing;
  }
}

asio::awaitable<BrokerInspector::Owner> BrokerInspector::owner_of(Descriptor& client,
                                                                  Endpoint meant,
                                                                  std::string& first,
                                                                  std::string& host) {
  if (state_.context.handover == nullptr || !state_.policy.opens_proxy_hosts())
    co_return Owner::kPolicy;
  if (meant.address == IpAddress::parse(kBrokerV4)) {
    co_return meant.port == kHttpPort&& state_.context.handover->base_url(state_.id)
        ? Owner::kBroker
        : Owner::kPolicy;
  }
  if (!state_.context.handover->any_at(state_.id, meant.port)) co_return Owner::kPolicy;
  const bool fence = state_.context.handover->any_fence_at(state_.id, meant.port);
  auto turn = co_await state_.inspections.turn();
  const auto names = state_.names.of(meant.address);
  const auto is_one = [&](const std::string& name) {
    return state_.context.handover->takes(state_.id, name, meant.port) ||
           state_.context.handover->fences(state_.id, name, meant.port);
  };
  const bool may_be = fence || meant.port == kTlsPort || names.empty() ||
                      std::ranges::any_of(names, is_one) ||
                      std::ranges::any_of(state_.ruled_names_of(meant.address), is_one);
  turn.end();
  if (!may_be) co_return Owner::kPolicy;
  auto reading = read_first_bytes_of(client, policy::Proof::kTls, first);
  auto shown = co_await with_deadline(std::move(reading), kFirstBytesLimit, "the first bytes");
  if (!shown || shown->state != Shown::State::kName) {
    // A connection that shows no name may be for the fenced host. It may name nobody, be too large
    // or too slow, or not have begun. It may be something that a server skips before a ClientHello,
    // or HTTP in the clear.
    co_return fence ? Owner::kNobody : Owner::kPolicy;
  }
  host = shown->host;
  const auto last = co_await state_.inspections.turn();
  const bool is_brokers = state_.context.handover->takes(state_.id, host, meant.port) ||
                          (state_.context.handover->fences(state_.id, host, meant.port) &&
                           state_.policy.allows_fenced_host(host, meant.port));
  co_return is_brokers ? Owner::kBroker : Owner::kPolicy;
}

asio::awaitable<ConnectionVerdict> PolicyInspector::decide(Descriptor& client, Endpoint meant,
                                                           std::string& first) {
  ConnectionVerdict out;
  auto turn = co_await state_.inspections.turn();
  out.facts = {state_.names.of(meant.address), std::nullopt, meant};
  out.by_policy = state_.policy_number;
  const auto& names = out.facts.names;
  if (state_.journal.quotas().is_used_up()) {
    if (!names.empty()) out.host = names.front();
    out.refuse(kBytesUsedUp);
    co_return out;
  }
  if (!state_.policy.is_allowed()) {
    out.refuse(state_.policy.reason());
    co_return out;
  }
  if (state_.context.reachable.is_closed(meant.address)) {  // whatever its first bytes show
    out.refuse("private_address");
    co_return out;
  }
  const auto verdict = state_.policy.decide(out.facts);
  if (verdict.says == policy::Verdict::Says::kShow) {
    turn.end();
    co_await decide_by_shown_host(client, out, verdict.proof, first);
    co_return out;
  }
  out.rule = verdict.rule;
  const auto bare = state_.policy.decide({.names = {}, .shown = {}, .to = meant});
  if (!verdict.allowed()) {
    // A rule about its address is about no name.
    const bool of_address = !verdict.rule.empty() && bare.rule == verdict.rule;
    if (!names.empty() && !of_address) out.host = names.front();
    out.refuse(state_.policy.reason_for(out.facts, verdict));
    co_return out;
  }
  out.inspect_late = state_.policy.depends_on_names(meant);
  // The name that it was let through by; none, where its address is enough.
  const bool by_address = bare.allowed();
  for (const std::string& name : names) {
    if (by_address || !state_.policy.decide({.names = {name}, .shown = {}, .to = meant}).allowed())
      continue;
    out.host = name;
    break;
  }
  if (by_address && verdict.rule.empty() && !names.empty()) out.host = names.front();
  check_address(out);
  co_return out;
}

asio::awaitable<bool> PolicyInspector::read_shown_host(Descriptor& client, ConnectionVerdict& out,
                                                       Proof proof, std::string& first) {
  out.proof = proof;
  auto reading = read_first_bytes_of(client, proof, first);
  auto shown = co_await with_deadline(std::move(reading), kFirstBytesLimit, "the first bytes");
  if (shown && shown->state == Shown::State::kName && proof == Proof::kHttp &&
      !framing_of(std::string_view(first).substr(0, shown->size))) {
    shown->state = Shown::State::kOther;
  }
  if (!shown || shown->state != Shown::State::kName) {
    const bool nobody = shown && shown->state == Shown::State::kNone;
    if (nobody) out.proof_size = shown->size;
    out.refuse(!shown                 ? "said_too_little"
               : nobody               ? kNamesNoHost
               : proof == Proof::kTls ? "not_tls"
                                      : "not_http");
    co_return false;
  }
  out.host = shown->host;
  out.proof_size = shown->size;
  out.facts.shown = shown->host;
  co_return true;
}

asio::awaitable<void> PolicyInspector::decide_by_shown_host(Descriptor& client,
                                                            ConnectionVerdict& out, Proof proof,
                                                            std::string& first) {
  const bool shows = co_await read_shown_host(client, out, proof, first);
  if (!shows && !(proof == Proof::kTls && out.reason == kNamesNoHost)) co_return;
  auto turn = co_await state_.inspections.turn();
  if (!shows) {
    // For TLS that names nobody the address stands for the name. A rule of that address alone
    // allows it.
    Facts named = out.facts;
    named.shown = named.to.address.text();
    const auto verdict = state_.policy.decide(named);
    if (!verdict.allowed() || !verdict.by_address) co_return;
    out.allow(verdict.rule);
    out.by_policy = state_.policy_number;
    out.facts = std::move(named);
    check_address(out);
    co_return;
  }
  const auto judge = [&] {
    out.by_policy = state_.policy_number;
    const auto verdict = state_.policy.decide(out.facts);
    out.rule = verdict.rule;
    if (!verdict.allowed())
      out.refuse(!state_.policy.is_allowed() ? state_.policy.reason()
                 : verdict.rule.empty()      ? "not_in_policy"
                                             : "denied_by_rule");
    return verdict.allowed();
  };
  if (!judge()) co_return;
  turn.end();
  // Only an address of the name is dialled. If the gate did not find it there, it resolves the
  // name.
  if (std::ranges::find(out.facts.names, out.host) == out.facts.names.end()) {
    if (!state_.journal.may_look_up(out.host)) {
      out.refuse(state_.journal.quotas().is_used_up() ? kBytesUsedUp : kTooManyNewNames);
      co_return;
    }
    auto found = co_await state_.context.resolver.resolve(out.host, state_.id);
    if (found.addresses.empty()) {
      out.reason = found.outcome == Resolved::Outcome::kFailed ? "lookup_failed" : "name_not_found";
      co_return;
    }
    const bool same =
        std::ranges::find(found.addresses, out.facts.to.address) != found.addresses.end();
    if (!same) {
      const auto fit = std::ranges::find_if(found.addresses, [&](const IpAddress& one) {
        return state_.context.reachable.look_at(one) == Reachable::May::kDial;
      });
      out.facts.to.address = fit != found.addresses.end() ? *fit : found.addresses.front();
    }
    out.facts.names = {out.host};
    const auto again = co_await state_.inspections.turn();
    if (!judge()) co_return;  // with the address that is dialled
  }
  check_address(out);
}

void PolicyInspector::check_address(ConnectionVerdict& out) const {
  switch (state_.context.reachable.look_at(out.facts.to.address)) {
    case Reachable::May::kDial: return;
    case Reachable::May::kNot: out.refuse("private_address"); return;
    case Reachable::May::kUnknown: out.reason = kGateFailed; return;
  }
}

}  // namespace cay::gate
