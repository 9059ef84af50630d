#include "gate/dns_proxy.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "async/deadline.h"
#include "gate/dns_message.h"
#include "gate/handover.h"
#include "gate/stand_ins.h"
#include "os/route.h"

namespace cay::gate {
namespace {

constexpr Millis kStreamIdle{10'000};
constexpr Millis kAfterError{10};
// Short, so that a client soon gets the addresses of a name that was allowed meanwhile.
constexpr std::uint32_t kStandInSeconds = 5;
constexpr std::size_t kMostQuestion = 4096;
constexpr std::size_t kMostAnswer = 65'535;

// Reads exactly `size` bytes.
Task<std::string> read_exactly(Descriptor& from, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const ssize_t got = ::recv(from.native_handle(), out.data() + have, size - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await readable(from);
      continue;
    }
    if (got <= 0) co_return Error{Code::kCancelled, "guest_gone", "the client left", 0};
    have += static_cast<std::size_t>(got);
  }
  co_return out;
}

}  // namespace

DnsProxy::DnsProxy(EgressState& state, Scope& children)
    : state_(state), children_(children), fewer_questions_(state.context.loop) {}

asio::awaitable<void> DnsProxy::serve_datagrams(Descriptor& at) {
  for (int in_a_row = 0;; ++in_a_row) {
    if (in_a_row >= kMostInARow) {
      in_a_row = 0;
      co_await give_way();
    }
    while (questions_ >= kMostQuestions) {  // more wait in the socket, or the client repeats them
      fewer_questions_.reset();
      co_await fewer_questions_.wait();
    }
    char buffer[1500];
    Asker asker;
    const ssize_t got = ::recvfrom(at.native_handle(), buffer, sizeof buffer, MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&asker.at), &asker.size);
    if (got < 0 && errno == EAGAIN) {
      co_await readable(at);
      continue;
    }
    if (got < 0) {  // an error of an earlier answer, or a lasting one
      co_await sleep_for(kAfterError);
      continue;
    }
    children_.spawn(answer_datagram(at, std::string(buffer, static_cast<std::size_t>(got)), asker));
  }
}

asio::awaitable<void> DnsProxy::answer_datagram(Descriptor& at, std::string message, Asker from) {
  const Question counted(*this);
  auto text = co_await answer(std::move(message), 0);
  if (text.empty()) co_return;
  // The client repeats a question whose answer is lost.
  static_cast<void>(::sendto(at.native_handle(), text.data(), text.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&from.at), from.size));
}

asio::awaitable<void> DnsProxy::serve_stream(Descriptor& client) {
  for (;;) {
    auto reading_size = read_exactly(client, 2);
    auto size = co_await with_deadline(std::move(reading_size), kStreamIdle);
    if (!size) break;
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>((*size)[0]) << 8 |
                                                 static_cast<unsigned char>((*size)[1]));
    if (length == 0 || length > kMostQuestion || questions_ >= kMostQuestions) co_return;
    auto reading = read_exactly(client, length);
    auto message = co_await with_deadline(std::move(reading), kStreamIdle);
    if (!message) co_return;
    const Question counted(*this);
    auto text = co_await answer(*std::move(message), kMostAnswer);
    if (text.empty()) co_return;
    const std::string framed =
        std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size() & 0xff)} +
        text;
    // Some kilobytes for a socket that was empty: the gate does not wait for a client that takes
    // less.
    if (::send(client.native_handle(), framed.data(), framed.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(framed.size()))
      co_return;
  }
  if (::shutdown(client.native_handle(), SHUT_WR) != 0) co_return;
  co_await delivered(client.native_handle());
  on_close(client.native_handle(), OnClose::kFinish);
}

asio::awaitable<std::string> DnsProxy::answer(std::string message, std::size_t room) {
  const auto question = parse_question(message);
  if (!question) co_return std::string();
  if (room == 0) room = question->room;
  DnsAnswer out;
  const bool address = question->type == kDnsA || question->type == kDnsAaaa;
  const std::string host = question->name.empty() ? "." : question->name;
  const auto refuse = [&](const char* reason, const std::string& rule,
                          const std::string& found_at = {}) {
    // Questions of other types come along with those for addresses of the same name.
    if (address)
      state_.journal.note({.host = host,
                           .address = found_at,
                           .port = 0,
                           .allowed = false,
                           .reason = reason,
                           .rule = rule});
    // A name that does not exist ends a lookup at once. Clients repeat a question that is REFUSED.
    out.code = DnsCode::kNoName;
    out.blocked = "policy " + state_.policy.choice().policy + ": " + reason;
    return encode_answer(*question, out, room);
  };
  // Allowed, and still without an address.
  const auto fail = [&](DnsCode code, const char* reason, const std::string& found_at = {}) {
    state_.journal.note(
        {.host = host, .address = found_at, .port = 0, .allowed = true, .reason = reason});
    out.code = code;
    return encode_answer(*question, out, room);
  };
  if (state_.journal.quotas().is_used_up()) co_return refuse(kBytesUsedUp, {});
  if (!state_.policy.is_allowed()) co_return refuse(state_.policy.reason(), {});
  auto turn = co_await state_.inspections.turn();
  if (!state_.policy.is_allowed()) co_return refuse(state_.policy.reason(), {});  // meanwhile
  const bool of_rule = state_.context.handover != nullptr && state_.policy.opens_proxy_hosts() &&
                       state_.context.handover->resolves(state_.id, question->name);
  const auto verdict =
      question->plain ? state_.policy.may_resolve(question->name) : policy::Verdict{};
  turn.end();
  if (question->plain && !of_rule && state_.policy.asks_after(verdict) &&
      state_.may_ask_about(question->name)) {
    // Nothing is looked up: the name itself could carry data out. The connection waits for an
    // answer.
    if (question->klass == kDnsInternet && question->type == kDnsA) {
      out.addresses = {asked_stand_in(question->name)};
      out.ttl = kStandInSeconds;
      state_.asked_names.note(question->name, out.addresses);
    }
    co_return encode_answer(*question, out, room);
  }
  if (!verdict.allowed() && !(question->plain && of_rule))
    co_return refuse(verdict.rule.empty() ? "not_in_policy" : "denied_by_rule", verdict.rule);
  if (question->klass != kDnsInternet || !address)
    co_return encode_answer(*question, out, room);  // no records of that type
  if (!state_.journal.may_look_up(question->name)) {
    out.code = state_.journal.quotas().is_used_up() ? DnsCode::kNoName : DnsCode::kRefused;
    co_return encode_answer(*question, out, room);
  }
  auto found = co_await state_.context.resolver.resolve(question->name, state_.id);
  if (found.outcome == Resolved::Outcome::kFailed)
    co_return fail(DnsCode::kServer, "lookup_failed");
  if (found.outcome == Resolved::Outcome::kNoName)
    co_return fail(DnsCode::kNoName, "name_not_found");
  bool known = true;
  for (const IpAddress& one : found.addresses) {
    const auto may = state_.context.reachable.look_at(one);
    if (may == Reachable::May::kDial) out.addresses.push_back(one);
    if (may == Reachable::May::kUnknown) known = false;
  }
  if (out.addresses.empty() && !known)
    co_return fail(DnsCode::kServer, "gate_failed", found.addresses.front().text());
  if (out.addresses.empty())
    co_return refuse("private_address", {},
                     found.addresses.empty() ? std::string() : found.addresses.front().text());
  // No address that every connection is refused at: a client that is reset there may not try the
  // next.
  if (const std::string rule = of_rule ? "" : state_.policy.refuses_v6(); !rule.empty()) {
    const std::string first = out.addresses.front().text();
    std::erase_if(out.addresses, [](const IpAddress& one) { return !one.is_v4(); });
    if (out.addresses.empty()) co_return refuse("denied_by_rule", rule, first);
  }
  // No address that this host cannot reach, such as IPv6 on a host without it.
  std::vector<IpAddress> near;
  for (const IpAddress& one : out.addresses) {
    const auto kind = os::route_kind(one);
    if (kind && *kind != os::RouteKind::kNone) near.push_back(one);
  }
  if (!near.empty()) out.addresses = std::move(near);
  state_.names.note(question->name, out.addresses);
  if (state_.context.handover != nullptr &&
      state_.context.handover->knows(state_.id, question->name))
    state_.ruled_names.note(question->name, out.addresses);
  state_.journal.note_found({.host = host,
                             .address = out.addresses.front().text(),
                             .port = 0,
                             .allowed = true,
                             .reason = {},
                             .rule = verdict.rule});
  out.ttl = Resolver::kKeepSeconds;
  co_return encode_answer(*question, out, room);
}

}  // namespace cay::gate
