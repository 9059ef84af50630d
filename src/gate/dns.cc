// DNS as the sandbox sees it: every question that leaves it is answered here.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "async/deadline.h"
#include "gate/dns_message.h"
#include "gate/door.h"
#include "gate/handover.h"
#include "os/route.h"

namespace cay::gate {
namespace {

constexpr Millis kStreamIdle{10'000};
constexpr Millis kAfterError{10};
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

asio::awaitable<void> Door::answer_datagrams(std::size_t which) {
  Descriptor& at = sockets_[which];
  for (int in_a_row = 0;; ++in_a_row) {
    if (in_a_row >= kMostInARow) {
      in_a_row = 0;
      co_await give_way();
    }
    while (questions_ >= kMostQuestions) {  // what comes meanwhile waits in the socket, or is asked again
      fewer_questions_.reset();
      co_await fewer_questions_.wait();
    }
    char buffer[1500];
    Asker asker;
    const ssize_t got = ::recvfrom(at.native_handle(), buffer, sizeof buffer, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&asker.at), &asker.size);
    if (got < 0 && errno == EAGAIN) {
      co_await readable(at);
      continue;
    }
    if (got < 0) {  // an error that an earlier answer met; or one that stays
      co_await sleep_for(kAfterError);
      continue;
    }
    children_.spawn(answer_datagram(which, std::string(buffer, static_cast<std::size_t>(got)), asker));
  }
}

asio::awaitable<void> Door::answer_datagram(std::size_t which, std::string message, Asker from) {
  const Question counted(*this);
  auto text = co_await answer(std::move(message), 0);
  if (text.empty()) co_return;
  // One that does not get through is asked for again.
  static_cast<void>(::sendto(sockets_[which].native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&from.at), from.size));
}

asio::awaitable<void> Door::answer_stream(Descriptor& guest) {
  for (;;) {
    auto reading_size = read_exactly(guest, 2);
    auto size = co_await with_deadline(std::move(reading_size), kStreamIdle);
    if (!size) break;
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>((*size)[0]) << 8 | static_cast<unsigned char>((*size)[1]));
    if (length == 0 || length > kMostQuestion || questions_ >= kMostQuestions) co_return;
    auto reading = read_exactly(guest, length);
    auto message = co_await with_deadline(std::move(reading), kStreamIdle);
    if (!message) co_return;
    const Question counted(*this);
    auto text = co_await answer(*std::move(message), kMostAnswer);
    if (text.empty()) co_return;
    const std::string framed = std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size() & 0xff)} + text;
    // At most some kilobytes for a socket that was empty: one that does not take them is not worth waiting for.
    if (::send(guest.native_handle(), framed.data(), framed.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(framed.size())) co_return;
  }
  if (::shutdown(guest.native_handle(), SHUT_WR) != 0) co_return;
  co_await delivered(guest.native_handle());
  on_close(guest.native_handle(), OnClose::kFinish);
}

asio::awaitable<std::string> Door::answer(std::string message, std::size_t room) {
  const auto question = parse_question(message);
  if (!question) co_return std::string();
  if (room == 0) room = question->room;
  DnsAnswer out;
  const bool address = question->type == kDnsA || question->type == kDnsAaaa;
  const std::string host = question->name.empty() ? "." : question->name;
  const auto refuse = [&](const char* reason, const std::string& rule, const std::string& found_at = {}) {
    // Other types (apt asks for SRV) go with the addresses of the same name, or mean nothing.
    if (address) note({.host = host, .address = found_at, .port = 0, .allowed = false, .reason = reason, .rule = rule});
    // A name that is not there ends a lookup at once; REFUSED would be asked again and again.
    out.code = DnsCode::kNoName;
    out.blocked = "policy " + standing_.choice.policy + ": " + reason;
    return encode_answer(*question, out, room);
  };
  // Let through, and of no address all the same.
  const auto fail = [&](DnsCode code, const char* reason, const std::string& found_at = {}) {
    note({.host = host, .address = found_at, .port = 0, .allowed = true, .reason = reason});
    out.code = code;
    return encode_answer(*question, out, room);
  };
  if (left_.is_used_up()) co_return refuse(kBytesUsedUp, {});
  if (!standing_.allowed) co_return refuse(standing_.not_allowed, {});
  auto look = co_await look_at_rules_in_turn();
  if (!standing_.allowed) co_return refuse(standing_.not_allowed, {});  // meanwhile
  const bool of_rule = house_.handover != nullptr && standing_.opens_rules && house_.handover->resolves(id_, question->name);
  const auto said = question->plain ? standing_.rules->may_resolve(question->name) : policy::Verdict{};
  look.end();
  if (!said.allowed() && !(question->plain && of_rule)) co_return refuse(said.rule.empty() ? "not_in_policy" : "denied_by_rule", said.rule);
  if (question->klass != kDnsInternet || !address) co_return encode_answer(*question, out, room);  // there is nothing of that type
  if (!may_look_up(question->name)) {
    out.code = left_.is_used_up() ? DnsCode::kNoName : DnsCode::kRefused;
    co_return encode_answer(*question, out, room);
  }
  auto found = co_await house_.resolver.resolve(question->name, id_);
  if (found.outcome == Resolved::Outcome::kFailed) co_return fail(DnsCode::kServer, "lookup_failed");
  if (found.outcome == Resolved::Outcome::kNoName) co_return fail(DnsCode::kNoName, "name_not_found");
  bool known = true;
  for (const IpAddress& one : found.addresses) {
    const auto may = house_.reachable.look_at(one);
    if (may == Reachable::May::kDial) out.addresses.push_back(one);
    if (may == Reachable::May::kUnknown) known = false;
  }
  if (out.addresses.empty() && !known) co_return fail(DnsCode::kServer, "gate_failed", found.addresses.front().text());
  if (out.addresses.empty()) co_return refuse("private_address", {}, found.addresses.empty() ? std::string() : found.addresses.front().text());
  // Nor is what no connection gets to: a client that finds one there, and is reset, may not try the next.
  if (const std::string rule = of_rule ? "" : standing_.rules->refuses_v6(); !rule.empty()) {
    const std::string first = out.addresses.front().text();
    std::erase_if(out.addresses, [](const IpAddress& one) { return !one.is_v4(); });
    if (out.addresses.empty()) co_return refuse("denied_by_rule", rule, first);
  }
  // What this host cannot reach is no help inside: an IPv6 address on a host without IPv6.
  std::vector<IpAddress> near;
  for (const IpAddress& one : out.addresses) {
    const auto kind = os::route_kind(one);
    if (kind && *kind != os::RouteKind::kNone) near.push_back(one);
  }
  if (!near.empty()) out.addresses = std::move(near);
  names_.note(question->name, out.addresses);
  if (house_.handover != nullptr && house_.handover->knows(id_, question->name)) ruled_.note(question->name, out.addresses);
  decisions_.note_found({.host = host, .address = out.addresses.front().text(), .port = 0, .allowed = true, .reason = {}, .rule = said.rule}, system_clock().wall());
  written_.set();
  out.ttl = Resolver::kKeepSeconds;
  co_return encode_answer(*question, out, room);
}

}  // namespace cay::gate
