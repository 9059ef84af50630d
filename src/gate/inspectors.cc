#include "gate/inspectors.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "gate/handover.h"
#include "gate/requests.h"
#include "gate/socket_bytes.h"
#include "gate/stand_ins.h"
#include "os/route.h"

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
  using Says = policy::Verdict::Says;
  ConnectionVerdict out;
  auto turn = co_await state_.inspections.turn();
  const bool stands_in = is_asked_stand_in(meant.address);
  out.facts = {(stands_in ? state_.asked_names : state_.names).of(meant.address), std::nullopt,
               meant};
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
  const Proof usual = policy::usual_proof(meant.port);
  // A stand-in of an earlier gate's: nobody knows which name it stood for, unless a name is shown.
  const bool is_forgotten = stands_in && names.empty() && usual == Proof::kNone;
  if (is_forgotten || (!stands_in && state_.context.reachable.is_closed(meant.address))) {
    out.refuse("private_address");  // whatever its first bytes show
    co_return out;
  }
  auto verdict = state_.policy.decide(out.facts);
  const bool asks = state_.policy.asks_after(verdict);
  // A question is about the name that is shown, where that is usual: an address serves many.
  if (asks && usual != Proof::kNone) {
    verdict.says = Says::kShow;
    verdict.proof = usual;
  }
  if (!asks && verdict.says != Says::kShow) settle(out, verdict, meant);
  turn.end();
  if (asks && verdict.says != Says::kShow) {
    auto host = names.empty() ? meant.address.text() : names.front();
    verdict = co_await judge(client, out, std::move(host));
    const auto last = co_await state_.inspections.turn();
    if (verdict.says != Says::kShow && out.reason.empty()) settle(out, verdict, meant);
  }
  if (verdict.says == Says::kShow) {
    co_await decide_by_shown_host(client, out, verdict.proof, first);
    co_return out;
  }
  if (!out.reason.empty()) co_return out;
  if (is_asked_stand_in(out.facts.to.address)) {
    if (out.host.empty() && !names.empty()) out.host = names.front();
    co_await find_address(out);
    if (!out.reason.empty()) co_return out;
    // With the address that is dialled: a rule may refuse that.
    verdict = co_await judge(client, out, out.host);
    out.rule = verdict.rule;
    if (!verdict.allowed()) co_return out;
  }
  check_address(out);
  co_return out;
}

void PolicyInspector::settle(ConnectionVerdict& out, const policy::Verdict& verdict,
                             Endpoint meant) const {
  const auto& names = out.facts.names;
  out.rule = verdict.rule;
  const auto bare = state_.policy.decide({.names = {}, .shown = {}, .to = meant});
  if (!verdict.allowed()) {
    // A rule about its address is about no name.
    const bool of_address = !verdict.rule.empty() && bare.rule == verdict.rule;
    if (!names.empty() && !of_address) out.host = names.front();
    out.refuse(state_.policy.reason_for(out.facts, verdict));
    return;
  }
  out.inspect_late = state_.policy.depends_on_names(meant);
  if (out.facts.granted != nullptr) out.inspect_late = true;
  // The name that it was let through by; none, where its address is enough.
  const bool by_address = bare.allowed() || (out.facts.granted != nullptr && verdict.by_address);
  const auto lets_through = [&](const std::string& name) {
    const Facts of_name{.names = {name}, .shown = {}, .to = meant, .granted = out.facts.granted};
    return state_.policy.decide(of_name).allowed();
  };
  const auto by = std::ranges::find_if(names, lets_through);
  if (!by_address && by != names.end()) out.host = *by;
  if (by_address && verdict.rule.empty() && !names.empty()) out.host = names.front();
}

asio::awaitable<policy::Verdict> PolicyInspector::judge(Descriptor& client, ConnectionVerdict& out,
                                                        std::string host) {
  for (;;) {
    policy::Verdict verdict;
    {
      const auto turn = co_await state_.inspections.turn();
      out.by_policy = state_.policy_number;
      verdict = state_.policy.decide(out.facts);
    }
    if (verdict.says != policy::Verdict::Says::kNo) co_return verdict;
    const bool asks = state_.policy.asks_after(verdict) && out.facts.granted == nullptr &&
                      state_.may_ask_about(host);
    if (!asks) {
      out.rule = verdict.rule;
      out.refuse(!state_.policy.is_allowed() ? state_.policy.reason()
                 : verdict.rule.empty()      ? "not_in_policy"
                                             : "denied_by_rule");
      co_return verdict;
    }
    const bool goes_on = co_await ask(client, out, host);
    if (!goes_on) co_return verdict;
  }
}

asio::awaitable<bool> PolicyInspector::ask(Descriptor& client, ConnectionVerdict& out,
                                           const std::string& host) {
  // No answer opens a special address.
  if (const auto address = IpAddress::parse(host)) {
    const auto may = state_.context.reachable.look_at(*address);
    if (may != Reachable::May::kDial) {
      out.reason = kGateFailed;
      if (may == Reachable::May::kNot) out.refuse("private_address");
      co_return false;
    }
  }
  out.host = host;
  state_.journal.note_asked({.host = host,
                             .address = is_asked_stand_in(out.facts.to.address)
                                            ? std::string()
                                            : out.facts.to.address.text(),
                             .port = out.facts.to.port,
                             .reason = {}});
  auto answer = co_await state_.questions.ask(client, host, out.facts.to.port);
  if (answer.reason != nullptr) {
    out.refuse(answer.reason);
    co_return false;
  }
  out.facts.granted = std::move(answer.grant);
  co_return true;
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
    turn.end();
    ConnectionVerdict by_address;
    by_address.facts = std::move(named);
    const auto verdict = co_await judge(client, by_address, by_address.facts.to.address.text());
    if (!verdict.allowed() || !verdict.by_address) {
      if (by_address.was_asked()) out.refuse(by_address.reason.c_str());
      co_return;
    }
    out.allow(verdict.rule);
    out.by_policy = by_address.by_policy;
    out.facts = std::move(by_address.facts);
    check_address(out);
    co_return;
  }
  turn.end();
  const auto verdict = co_await judge(client, out, out.host);
  if (!verdict.allowed()) co_return;
  out.rule = verdict.rule;
  // Only an address of the name is dialled. If the gate did not find it there, it resolves the
  // name.
  if (std::ranges::find(out.facts.names, out.host) == out.facts.names.end() ||
      is_asked_stand_in(out.facts.to.address)) {
    co_await find_address(out);
    if (!out.reason.empty()) co_return;
    const auto again = co_await judge(client, out, out.host);  // with the address that is dialled
    out.rule = again.rule;
    if (!again.allowed()) co_return;
  }
  check_address(out);
}

asio::awaitable<void> PolicyInspector::find_address(ConnectionVerdict& out) {
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
    // A client that had a choice would have left out a family that leads nowhere.
    if (is_asked_stand_in(out.facts.to.address)) {
      const auto is_near = [&](const IpAddress& one) {
        const auto kind = os::route_kind(one);
        const bool near = kind && *kind != os::RouteKind::kNone;
        return near && (one.is_v4() || state_.policy.refuses_v6().empty());
      };
      const auto near = std::ranges::find_if(found.addresses, is_near);
      if (near != found.addresses.end()) std::swap(*near, found.addresses.front());
    }
    const auto fit = std::ranges::find_if(found.addresses, [&](const IpAddress& one) {
      return state_.context.reachable.look_at(one) == Reachable::May::kDial;
    });
    out.facts.to.address = fit != found.addresses.end() ? *fit : found.addresses.front();
  }
  out.facts.names = {out.host};
}

void PolicyInspector::check_address(ConnectionVerdict& out) const {
  switch (state_.context.reachable.look_at(out.facts.to.address)) {
    case Reachable::May::kDial: return;
    case Reachable::May::kNot: out.refuse("private_address"); return;
    case Reachable::May::kUnknown: out.reason = kGateFailed; return;
  }
}

}  // namespace cay::gate
