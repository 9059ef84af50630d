// One redirected connection: decided, dialled, moved.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "async/deadline.h"
#include "gate/both.h"
#include "gate/door.h"
#include "gate/first_bytes.h"
#include "gate/handover.h"
#include "gate/requests.h"
#include "gate/said_no.h"
#include "wire/guest_network.h"

namespace cay::gate {
namespace {

constexpr Millis kDialLimit{10'000};
constexpr Millis kTellEvery{1'000};
constexpr Millis kFirstBytesLimit{10'000};
constexpr Millis kSayNoLimit{2'000};
constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kTlsPort = 443;
constexpr const char* kOurFailure = "gate_failed";

Task<Shown> first_bytes_of(Descriptor& guest, Proof proof, std::string& first) {
  for (std::size_t looked = 0;;) {
    Shown shown = read_first_bytes(proof, first, looked);
    looked = first.size();
    if (shown.state != Shown::State::kMore) co_return shown;
    const Heard heard = co_await hear(guest, first, kMostFirstBytes - first.size());
    if (heard != Heard::kSome) co_return Error{Code::kCancelled, "guest_gone", "the client left before it said whom it wants", 0};
  }
}

Task<Asks> request_of(Descriptor& guest, std::string first) {
  for (std::size_t looked = 0;;) {
    const Asks asks = what_it_asks(first, looked);
    looked = first.size();
    if (asks != Asks::kMore) co_return asks;
    const Heard heard = co_await hear(guest, first);
    if (heard != Heard::kSome) co_return Asks::kNothing;
  }
}

// Until the guest ends it. What it says is thrown away: a socket that is closed with something unread in it is reset, and our words with it.
Task<void> left(Descriptor& guest) {
  for (;;) {
    co_await give_way();
    std::string ignored;
    const Heard heard = co_await hear(guest, ignored);
    if (heard != Heard::kSome) co_return Result<void>();
  }
}

// Of descriptors, memory, or this host's own ports: nothing that the other side or a policy did.
bool is_our_failure(int err) {
  return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS || err == EADDRNOTAVAIL || err == EAGAIN;
}

bool is_own(const IpAddress& address) {
  static const auto guest_v4 = IpAddress::parse(wire::kGuestV4), guest_v6 = IpAddress::parse(wire::kGuestV6), loopback_v6 = IpAddress::parse("::1");
  static const auto loopback_v4 = *Network::parse("127.0.0.0/8");
  return address == guest_v4 || address == guest_v6 || address == loopback_v6 || loopback_v4.contains(address);
}

}  // namespace

// What a connection moves is told while it lives, and at its end, whatever that is.
class Door::Telling {
 public:
  Telling(Door& door, Moving& moving) : door_(door), moving_(moving) {
    door_.moving_.insert(&moving_);
    door_.moves_.set();
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() {
    door_.tell(moving_);
    door_.moving_.erase(&moving_);
  }

 private:
  Door& door_;
  Moving& moving_;
};

void Door::tell(Moving& moving) {
  const std::uint64_t sent = moving.sent - moving.told_sent;
  const std::uint64_t received = moving.received - moving.told_received;
  if (sent == 0 && received == 0) return;
  decisions_.moved(moving.asked.back().line, sent, received);
  moving.told_sent = moving.sent;
  moving.told_received = moving.received;
  written_.set();
}

void Door::end_all() {
  if (std::exchange(ended_, true)) return;
  const auto refuse = [this](const std::string& host, const Endpoint& to) {
    note({.host = host, .address = to.address.text(), .port = to.port, .allowed = false, .reason = kBytesUsedUp});
  };
  for (Moving* one : moving_) {
    refuse(one->asked.back().host, one->asked.back().facts.to);
    one->cut();
  }
  handed_.cut([](const HandedOver::One&) { return true; }, [&](const HandedOver::One& one) { refuse(one.host, one.meant); });
}

asio::awaitable<void> Door::tell_all() {
  for (;;) {
    if (moving_.empty()) {
      moves_.reset();
      co_await moves_.wait();
    }
    co_await sleep_for(kTellEvery);
    for (Moving* one : moving_) tell(*one);
  }
}

Decisions::What Door::what_of(const Verdict& verdict, std::uint16_t port) {
  return {.host = verdict.host, .address = verdict.facts.to.address.text(), .port = port, .allowed = !verdict.refused, .reason = verdict.reason, .rule = verdict.rule};
}

asio::awaitable<void> Door::serve(UniqueFd fd, std::shared_ptr<const Place> place) {
  const auto meant = original_destination(fd.get());
  if (!meant || is_own(meant->address)) co_return;  // somebody inside found the gate's own port: nothing is there
  Descriptor guest(house_.loop, fd.release());
  if (meant->port == kDnsPort) {
    co_await answer_stream(guest);
    co_return;
  }
  std::string first, host;
  Whose whose = Whose::kPolicys;
  if (!left_.is_used_up()) {
    whose = co_await whose_is(guest, *meant, first, host);
    if (whose == Whose::kBrokers) {
      co_await hand_over(std::move(guest), *meant, std::move(host), std::move(first), place->buffers);
      co_return;
    }
  }
  auto verdict = co_await decide(guest, *meant, first);
  if (verdict.reason.empty() && verdict.proof == Proof::kNone && meant->port == kHttpPort && house_.handover != nullptr && house_.handover->any_fence(id_)) {
    // It may be meant for a host with a fence, by another name of its address: this request is judged, as those after it are. What shows no host is refused.
    co_await shows_host(guest, verdict, Proof::kHttp, first);
  }
  if (verdict.reason.empty() && (whose == Whose::kNobodys || is_past_a_fence(verdict.facts, host))) verdict.refuse("fenced");
  if (!verdict.reason.empty()) {
    if (verdict.reason != kTooManyNewNames) note(what_of(verdict, meant->port));
    const bool plain = meant->port == kHttpPort || verdict.proof == Proof::kHttp;
    if (verdict.refused && plain) {
      co_await say_no(guest, verdict, std::move(first));
    }
    co_return;
  }
  co_await connect(std::move(guest), std::move(verdict), std::move(first), place->buffers);
}

// Only where it may be for a rule's host is anything read, or a server that speaks first is kept waiting for it: at the port where none does, and at a
// fence's, whatever names the guest knows the address by; elsewhere where it may be a rule's host.
asio::awaitable<Door::Whose> Door::whose_is(Descriptor& guest, Endpoint meant, std::string& first, std::string& host) {
  if (house_.handover == nullptr || !standing_.opens_rules) co_return Whose::kPolicys;
  if (meant.address == IpAddress::parse(kBrokerV4)) {
    co_return meant.port == kHttpPort && house_.handover->base_url(id_) ? Whose::kBrokers : Whose::kPolicys;
  }
  if (!house_.handover->any_at(id_, meant.port)) co_return Whose::kPolicys;
  const bool fence = house_.handover->any_fence_at(id_, meant.port);
  auto look = co_await look_at_rules_in_turn();
  const auto names = names_.of(meant.address);
  const auto is_one = [&](const std::string& name) {
    return house_.handover->takes(id_, name, meant.port) || house_.handover->fences(id_, name, meant.port);
  };
  const bool may_be = fence || meant.port == kTlsPort || names.empty() || std::ranges::any_of(names, is_one) || std::ranges::any_of(ruled_names_of(meant.address), is_one);
  look.end();
  if (!may_be) co_return Whose::kPolicys;
  auto reading = first_bytes_of(guest, policy::Proof::kTls, first);
  auto shown = co_await with_deadline(std::move(reading), kFirstBytesLimit, "the first bytes");
  if (!shown || shown->state != Shown::State::kName) {
    // Whatever shows no name may be for the fence's host, by whatever name of its address: what names nobody, is too large or too slow to be judged, or has
    // not begun; what some server passes over before a ClientHello; HTTP in the clear at a port that takes both.
    co_return fence ? Whose::kNobodys : Whose::kPolicys;
  }
  host = shown->host;
  const auto again = co_await look_at_rules_in_turn();
  const bool is_brokers = house_.handover->takes(id_, host, meant.port) || (house_.handover->fences(id_, host, meant.port) && has_fenced(host, meant.port));
  co_return is_brokers ? Whose::kBrokers : Whose::kPolicys;
}

asio::awaitable<Door::Verdict> Door::decide(Descriptor& guest, Endpoint meant, std::string& first) {
  Verdict out;
  auto look = co_await look_at_rules_in_turn();
  out.facts = {names_.of(meant.address), std::nullopt, meant};
  out.by = standing_.number;
  const auto& names = out.facts.names;
  if (left_.is_used_up()) {
    if (!names.empty()) out.host = names.front();
    out.refuse(kBytesUsedUp);
    co_return out;
  }
  if (!standing_.allowed) {
    out.refuse(standing_.not_allowed);
    co_return out;
  }
  if (house_.reachable.is_closed(meant.address)) {  // no first bytes would help
    out.refuse("private_address");
    co_return out;
  }
  const auto said = ask(out.facts);
  if (said.says == policy::Verdict::Says::kShow) {
    look.end();
    co_await by_first_bytes(guest, out, said.proof, first);
    co_return out;
  }
  out.rule = said.rule;
  const auto bare = ask({.names = {}, .shown = {}, .to = meant});
  if (!said.allowed()) {
    // A rule about its address is about no name.
    const bool of_address = !said.rule.empty() && bare.rule == said.rule;
    if (!names.empty() && !of_address) out.host = names.front();
    out.refuse(why_not(out.facts, said));
    co_return out;
  }
  out.may_show = goes_by_names(meant);
  // The name that it was let through by; none, where its address is enough.
  const bool by_address = bare.allowed();
  for (const std::string& name : names) {
    if (by_address || !ask({.names = {name}, .shown = {}, .to = meant}).allowed()) continue;
    out.host = name;
    break;
  }
  if (by_address && said.rule.empty() && !names.empty()) out.host = names.front();
  look_at(out);
  co_return out;
}

asio::awaitable<bool> Door::shows_host(Descriptor& guest, Verdict& out, Proof proof, std::string& first) {
  out.proof = proof;
  auto reading = first_bytes_of(guest, proof, first);
  auto shown = co_await with_deadline(std::move(reading), kFirstBytesLimit, "the first bytes");
  if (shown && shown->state == Shown::State::kName && proof == Proof::kHttp && !framing_of(std::string_view(first).substr(0, shown->size))) {
    shown->state = Shown::State::kOther;
  }
  if (!shown || shown->state != Shown::State::kName) {
    const bool nobody = shown && shown->state == Shown::State::kNone;
    if (nobody) out.proof_size = shown->size;
    out.refuse(!shown ? "said_too_little" : nobody ? kNamesNoHost : proof == Proof::kTls ? "not_tls" : "not_http");
    co_return false;
  }
  out.host = shown->host;
  out.proof_size = shown->size;
  out.facts.shown = shown->host;
  co_return true;
}

asio::awaitable<void> Door::by_first_bytes(Descriptor& guest, Verdict& out, Proof proof, std::string& first) {
  const bool shows = co_await shows_host(guest, out, proof, first);
  if (!shows && !(proof == Proof::kTls && out.reason == kNamesNoHost)) co_return;
  auto look = co_await look_at_rules_in_turn();
  if (!shows) {
    // Of TLS that names nobody the address is the name, which a rule that is that address's alone lets through, as it does a Host.
    Facts named = out.facts;
    named.shown = named.to.address.text();
    const auto said = ask(named);
    if (!said.allowed() || !said.by_address) co_return;
    out.allow(said.rule);
    out.by = standing_.number;
    out.facts = std::move(named);
    look_at(out);
    co_return;
  }
  const auto judge = [&] {
    out.by = standing_.number;
    const auto said = ask(out.facts);
    out.rule = said.rule;
    if (!said.allowed()) out.refuse(!standing_.allowed ? standing_.not_allowed : said.rule.empty() ? "not_in_policy" : "denied_by_rule");
    return said.allowed();
  };
  if (!judge()) co_return;
  look.end();
  // An address that this name was not found at (or not by this gate) is not dialled: one of the name's own is.
  if (std::ranges::find(out.facts.names, out.host) == out.facts.names.end()) {
    if (!may_look_up(out.host)) {
      out.refuse(left_.is_used_up() ? kBytesUsedUp : kTooManyNewNames);
      co_return;
    }
    auto found = co_await house_.resolver.resolve(out.host, id_);
    if (found.addresses.empty()) {
      out.reason = found.outcome == Resolved::Outcome::kFailed ? "lookup_failed" : "name_not_found";
      co_return;
    }
    const bool same = std::ranges::find(found.addresses, out.facts.to.address) != found.addresses.end();
    if (!same) {
      const auto fit = std::ranges::find_if(found.addresses, [&](const IpAddress& one) { return house_.reachable.look_at(one) == Reachable::May::kDial; });
      out.facts.to.address = fit != found.addresses.end() ? *fit : found.addresses.front();
    }
    out.facts.names = {out.host};
    const auto again = co_await look_at_rules_in_turn();
    if (!judge()) co_return;  // by the address that is dialled now
  }
  look_at(out);
}

asio::awaitable<void> Door::say_no(Descriptor& guest, const Verdict& verdict, std::string first) {
  auto reading = request_of(guest, std::move(first));
  const auto asks = co_await with_deadline(std::move(reading), kSayNoLimit, "a request");
  if (!asks || *asks == Asks::kNothing) co_return;
  const bool taken = co_await send_all(guest, said_no(why_refused(verdict.reason, verdict.host, verdict.facts.to), *asks));
  if (!taken || ::shutdown(guest.native_handle(), SHUT_WR) != 0) co_return;
  auto leaving = left(guest);
  const auto gone = co_await with_deadline(std::move(leaving), kSayNoLimit, "its end");
  if (gone) on_close(guest.native_handle(), OnClose::kFinish);
}

void Door::look_at(Verdict& verdict) const {
  switch (house_.reachable.look_at(verdict.facts.to.address)) {
    case Reachable::May::kDial: return;
    case Reachable::May::kNot: verdict.refuse("private_address"); return;
    case Reachable::May::kUnknown: verdict.reason = kOurFailure; return;
  }
}

asio::awaitable<void> Door::connect(Descriptor guest, Verdict verdict, std::string first, Buffers buffers) {
  const bool stands_in = UpstreamProxy::stand_ins().contains(verdict.facts.to.address);
  // An address that stands for a name says nothing without it, though a rule may have let it through.
  if (stands_in && verdict.host.empty() && !verdict.facts.names.empty()) verdict.host = verdict.facts.names.front();
  auto dialled = co_await house_.proxy.reach(house_.loop, house_.resolver, verdict.host, verdict.facts.to, house_.memory.outside(buffers), kDialLimit);
  if (verdict.by != standing_.number) {  // meanwhile
    const auto said = ask(verdict.facts);
    verdict.rule = said.rule;
    if (!said.allowed()) {
      verdict.refuse("policy_changed");
      note(what_of(verdict, verdict.facts.to.port));
      co_return;
    }
    if (verdict.proof == Proof::kNone) verdict.may_show = goes_by_names(verdict.facts.to);
  }
  if (left_.is_used_up()) {
    verdict.refuse(kBytesUsedUp);
    note(what_of(verdict, verdict.facts.to.port));
    co_return;
  }
  Decisions::What what = what_of(verdict, verdict.facts.to.port);
  if (stands_in) what.address.clear();
  if (!dialled) {
    const int err = dialled.error().os_errno;
    const bool by_proxy = dialled.error().reason.starts_with("proxy_");
    what.reason = by_proxy                                            ? dialled.error().reason
                  : dialled.error().code == Code::kDeadlineExceeded ? "no_answer"
                  : err == ECONNREFUSED                             ? "refused_by_host"
                  : is_our_failure(err)                             ? kOurFailure
                                                                    : "unreachable";
    note(what);
    co_return;
  }
  on_close(dialled->socket.get(), OnClose::kReset);
  tune(dialled->socket.get());
  const auto both = std::make_shared<Both>(house_.loop, std::move(guest), Descriptor(house_.loop, dialled->socket.release()), left_);
  Decisions::Line line;
  note(what, &line);
  both->moved.asked.push_back({.facts = std::move(verdict.facts), .host = verdict.host, .line = std::move(line)});
  both->moved.is_heard = verdict.may_show;
  both->moved.cut = [&one = *both] { cut(one); };
  both->early = std::move(dialled->early);
  const Telling telling(*this, both->moved);
  co_await way_out(both, {std::move(first), verdict.proof, verdict.proof_size}, buffers);
  if (both->starved) {
    what.reason = kOurFailure;
    note(what);
  }
  if (both->broken) co_return;
  co_await delivered(both->guest.native_handle());
  co_await delivered(both->outside.native_handle());
  if (both->broken) co_return;  // cut meanwhile
  on_close(both->guest.native_handle(), OnClose::kFinish);
  on_close(both->outside.native_handle(), OnClose::kFinish);
}

}  // namespace cay::gate
