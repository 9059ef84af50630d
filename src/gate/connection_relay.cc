#include "gate/connection_relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <utility>

#include "async/deadline.h"
#include "async/scope.h"
#include "gate/detect_protocol.h"
#include "gate/inspectors.h"
#include "gate/refusal_response.h"
#include "gate/requests.h"

namespace cay::gate {
namespace {

constexpr Millis kNextHelloLimit{10'000};
constexpr Millis kLastAnswersLimit{5'000};
constexpr std::size_t kMostHosts = 16;  // that requests of one connection may name

Task<Shown> next_hello_of(Descriptor& client, std::string& bytes) {
  for (;;) {
    Shown shown = read_next_hello(bytes);
    if (shown.state != Shown::State::kMore) co_return shown;
    const Received received = co_await receive(client, bytes);
    if (received != Received::kSome)
      co_return Error{Code::kCancelled, "guest_gone", "the client left before its next ClientHello",
                      0};
  }
}

// Drops what the client sends behind a refused request. Left unread, it would reset the connection
// and the answers to the requests before.
asio::awaitable<void> ignore(std::shared_ptr<ProxiedConnection> connection) {
  try {
    for (auto received = Received::kSome; received == Received::kSome;) {
      co_await give_way();
      std::string ignored;
      received = co_await receive(connection->client, ignored);
    }
  } catch (const boost::system::system_error&) {
    if (!connection->broken) throw;
  }
}

asio::awaitable<void> last_answers(std::shared_ptr<ProxiedConnection> connection) {
  const bool in_time = co_await connection->server_done.wait_for(kLastAnswersLimit);
  if (!in_time) cut(*connection);
}

// Drops what the client sends behind the last request. Old clients end a body with an empty line.
asio::awaitable<void> read_behind(std::shared_ptr<ProxiedConnection> connection, std::string sent) {
  try {
    for (;;) {
      if (sent.find_first_not_of("\r\n") != std::string::npos) connection->client_sends_more = true;
      sent.clear();
      co_await give_way();
      const Received received = co_await receive(connection->client, sent);
      if (received == Received::kBroken) co_return break_off(*connection);
      if (received == Received::kEnd) {
        static_cast<void>(::shutdown(connection->server.native_handle(),
                                     SHUT_WR));  // fails if the server has ended
        co_return;
      }
    }
  } catch (const boost::system::system_error&) {
    if (!connection->broken) throw;
  }
}

// Waits until the server ends, as `Connection: close` requests. If it stays, the connection is
// reset once the client sends more and the answer, which has begun, pauses. `before`: bytes
// received before the request.
asio::awaitable<void> last_answer(std::shared_ptr<ProxiedConnection> connection,
                                  std::uint64_t before) {
  for (std::uint64_t seen = before;;) {
    const bool ended = co_await connection->server_done.wait_for(kLastAnswersLimit);
    if (ended) co_return;
    const std::uint64_t received = connection->record.received;
    if (connection->client_sends_more && received > before &&
        received == std::exchange(seen, received))
      co_return cut(*connection);
  }
}

}  // namespace

asio::awaitable<void> ConnectionRelay::run(FirstBytes first, Buffers buffers) {
  const bool inspects = first.proof == Proof::kNone && connection_->record.inspects_names;
  if (first.proof == Proof::kTls || inspects) connection_->expected = first.proof;
  if (first.proof == Proof::kHttp) {
    Requests requests;
    requests.add(first.bytes);
    if (requests.next().may_switch) connection_->expected = Proof::kHttp;
  }
  Scope way_back(state_.context.loop);
  way_back.spawn(one_way(connection_, Way::kBack, state_.context.pipes, buffers));
  auto then = Then::kBroken;
  try {
    then = co_await send_first(std::move(first));
  } catch (const boost::system::system_error&) {
    if (!connection_->broken) throw;
  }
  if (then == Then::kMoveAll && !connection_->broken) {
    co_await one_way(connection_, Way::kOut, state_.context.pipes, buffers);
  } else if (then == Then::kEnded && !connection_->broken) {
    if (::shutdown(connection_->server.native_handle(), SHUT_WR) != 0) break_off(*connection_);
  } else if (then == Then::kRefused && !connection_->broken &&
             ::shutdown(connection_->server.native_handle(), SHUT_WR) == 0) {
    // The server still answers the requests before, and ends. Most clients then repeat the refused
    // one over a connection of its own, where the gate answers it.
    Scope ignoring(state_.context.loop);
    ignoring.spawn(ignore(connection_));
    auto answers = last_answers(connection_);
    co_await ignoring.until(std::move(answers));
  } else if (then != Then::kAnswered && !connection_->broken) {
    break_off(*connection_);
  }
  co_await way_back.join();
}

asio::awaitable<ConnectionRelay::Then> ConnectionRelay::send(std::string bytes) {
  const std::size_t size = bytes.size();
  if (!may_pass(*connection_, Way::kOut, size)) co_return Then::kBroken;
  const bool gone = co_await send_all(connection_->server, std::move(bytes));
  if (!gone) co_return Then::kBroken;
  connection_->record.sent += size;
  co_return Then::kMoveAll;
}

asio::awaitable<ConnectionRelay::Then> ConnectionRelay::send_first(FirstBytes first) {
  auto then = Then::kBroken;
  if (first.proof == Proof::kHttp) {
    then = co_await relay_requests(std::move(first.bytes));
  } else if (first.proof == Proof::kTls) {
    then = co_await relay_hellos(std::move(first.bytes), first.proof_size);
  } else if (connection_->record.inspects_names) {
    then = co_await inspect_late(std::move(first.bytes));
  } else {
    then = co_await send(std::move(first.bytes));
  }
  co_return then;
}

// The first request was judged before the server was dialled. If it requests a WebSocket and the
// server agrees, what follows is no request. A later request cannot switch: the relay keeps reading
// requests.
asio::awaitable<ConnectionRelay::Then> ConnectionRelay::relay_requests(std::string first,
                                                                       std::size_t passed) {
  Requests requests;
  requests.add(first);
  bool waits = false, begun = false;
  std::uint64_t received = 0;  // before the last request
  for (int in_a_row = 0;; ++in_a_row) {
    if (in_a_row >= kMostInARow) {
      in_a_row = 0;
      co_await give_way();
    }
    if (waits && requests.is_between()) {
      std::string kept = requests.take_rest();
      const Received answered = co_await wait_for_answer(*connection_, kept);
      if (answered != Received::kSome)
        co_return answered == Received::kEnd ? Then::kEnded : Then::kBroken;
      waits = false;
      if (connection_->answer == FirstAnswer::kSwitches) {
        const auto then = co_await send(std::move(kept));
        co_return then;
      }
      requests.add(kept);
    }
    auto part = requests.next();
    if (part.is == Requests::Is::kOver) {
      co_await until_answered(requests.take_rest(), received);
      co_return Then::kAnswered;
    }
    if (part.is == Requests::Is::kMore) {
      std::string bytes;
      const Received more = co_await receive(connection_->client, bytes);
      if (more == Received::kBroken) co_return Then::kBroken;
      if (more == Received::kEnd) co_return Then::kEnded;  // an unfinished request goes nowhere
      requests.add(bytes);
      continue;
    }
    if (part.is == Requests::Is::kRefused) {
      refuse(current_host().name, part.names_nobody ? kNamesNoHost : "not_http");
      co_return Then::kRefused;
    }
    if (part.is == Requests::Is::kRequest) {
      waits = !begun && part.may_switch;
      if (begun) {
        const char* const why_not = co_await why_not_for(std::move(part.host));
        if (connection_->broken) co_return Then::kBroken;  // cut meanwhile
        // The gate does not answer here: a client that still waits for an earlier answer would take
        // this for it.
        if (why_not != nullptr) co_return Then::kRefused;
      }
      begun = true;
      received = connection_->record.received;
    }
    part.bytes.erase(0, std::exchange(passed, 0));
    const auto then = co_await send(std::move(part.bytes));
    if (then == Then::kBroken) co_return then;
  }
}

// The server gets no half-close: some servers take that for a client that gave up.
asio::awaitable<void> ConnectionRelay::until_answered(std::string behind, std::uint64_t before) {
  Scope reading(state_.context.loop);
  reading.spawn(read_behind(connection_, std::move(behind)));
  auto answering = last_answer(connection_, before);
  co_await reading.until(std::move(answering));
}

// The host must be allowed and found at this connection's address, unless the address alone is
// allowed. It then has a line, which counts what moves from here on.
asio::awaitable<const char*> ConnectionRelay::why_not_for(std::string host) {
  auto& hosts = connection_->record.hosts;
  if (hosts.back().name == host && hosts.back().facts.shown)
    co_return nullptr;  // judged already, and again when the policy changed
  auto turn = co_await state_.inspections.turn();
  Facts facts{.names = {host},
              .shown = host,
              .to = hosts.back().facts.to,
              .granted = hosts.back().facts.granted};
  policy::Verdict verdict;
  const auto refused = [&] {
    verdict = state_.policy.decide(facts);
    if (verdict.allowed()) return static_cast<const char*>(nullptr);
    return refuse(host,
                  !state_.policy.is_allowed() ? state_.policy.reason()
                  : verdict.rule.empty()      ? "not_in_policy"
                                              : "denied_by_rule",
                  verdict.rule);
  };
  if (const char* why = refused()) co_return why;
  const auto names = state_.names.of(facts.to.address);
  bool is_here = std::ranges::find(names, host) != names.end() ||
                 state_.policy.decide({.names = {}, .shown = {}, .to = facts.to}).allowed();
  turn.end();
  if (!is_here) {
    if (!state_.journal.may_look_up(host))
      co_return state_.journal.quotas().is_used_up() ? kBytesUsedUp : kTooManyNewNames;
    const auto found = co_await state_.context.resolver.resolve(host, state_.id);
    is_here = std::ranges::find(found.addresses, facts.to.address) != found.addresses.end();
    const auto again = co_await state_.inspections.turn();
    if (const char* why = refused()) co_return why;  // meanwhile
  }
  if (state_.is_past_a_fence(facts, {})) co_return refuse(host, "fenced");
  // An upstream proxy connected to the first host alone.
  if (!is_here || state_.context.proxy.takes(hosts.front().name, facts.to.address))
    co_return refuse(host, "host_mismatch");
  state_.journal.report(connection_->record);  // for the host before
  const auto known = std::ranges::find(hosts, host, &ConnectionRecord::Host::name);
  if (known != hosts.end()) {
    known->facts = std::move(facts);
    std::rotate(known, known + 1, hosts.end());
    co_return nullptr;
  }
  if (hosts.size() >= kMostHosts) co_return refuse(host, "too_many_hosts");
  ConnectionRecord::Host next{.facts = std::move(facts), .name = host};
  state_.journal.note({.host = host,
                       .address = next.facts.to.address.text(),
                       .port = next.facts.to.port,
                       .allowed = true,
                       .reason = {},
                       .rule = verdict.rule},
                      &next.line);
  hosts.push_back(std::move(next));
  co_return nullptr;
}

const char* ConnectionRelay::refuse(const std::string& host, const char* reason,
                                    const std::string& rule) {
  const Endpoint& to = connection_->record.hosts.back().facts.to;
  const bool stands_in = UpstreamProxy::stand_ins().contains(to.address);
  state_.journal.note({.host = host,
                       .address = stands_in ? "" : to.address.text(),
                       .port = to.port,
                       .allowed = false,
                       .reason = reason,
                       .rule = rule});
  return reason;
}

// A server may request another ClientHello, in the clear (RFC 8446, 4.1.4). After any other answer
// none follows.
asio::awaitable<ConnectionRelay::Then> ConnectionRelay::relay_hellos(std::string first,
                                                                     std::size_t hello_size,
                                                                     std::size_t passed) {
  const bool names_somebody = read_client_hello(first).state == Shown::State::kName;
  std::string kept = first.substr(hello_size);
  first.resize(hello_size);
  first.erase(0, passed);
  const auto begun = co_await send(std::move(first));
  if (begun == Then::kBroken) co_return begun;
  const Received answered = co_await wait_for_answer(*connection_, kept);
  if (answered != Received::kSome)
    co_return answered == Received::kEnd ? Then::kEnded : Then::kBroken;
  if (connection_->answer == FirstAnswer::kRetries) {
    auto reading = next_hello_of(connection_->client, kept);
    const auto shown =
        co_await with_deadline(std::move(reading), kNextHelloLimit, "the next ClientHello");
    const std::string host = connection_->record.hosts.back().name;
    if (!shown) co_return Then::kBroken;
    const bool named = shown->state == Shown::State::kName;
    if (named ? shown->host != host : shown->state != Shown::State::kNone || names_somebody) {
      refuse(named ? shown->host : host, named ? "server_name_changed"
                                         : shown->state == Shown::State::kNone ? kNamesNoHost
                                                                               : "not_tls");
      cut(*connection_);
      co_return Then::kBroken;
    }
  }
  const auto then = co_await send(std::move(kept));
  co_return then;
}

// Bytes go on as they come, so no protocol waits. A request that is refused in the middle of its
// first line is no request to the server: the line never ends there.
asio::awaitable<ConnectionRelay::Then> ConnectionRelay::inspect_late(std::string bytes) {
  ProtocolDetector detector;
  std::string first;  // at most kMostFirstBytes: a longer line names no host that can be judged
  std::size_t passed = 0;
  auto then = Then::kBroken;
  for (;;) {
    auto found = detector.add(bytes);
    first.append(bytes, 0, kMostFirstBytes - first.size());
    // A TLS server never speaks first: after a greeting, such bytes are of another protocol.
    if (found == Proof::kTls && connection_->record.received > 0) found = Proof::kNone;
    if (found && *found != Proof::kNone) {
      then = co_await relay_named(*found, std::move(first), passed);
      co_return then;
    }
    then = co_await send(std::exchange(bytes, {}));
    if (found || then == Then::kBroken) co_return then;
    passed = first.size();
    co_await give_way();
    const std::size_t room = kMostFirstBytes - first.size();
    const auto got = co_await receive(connection_->client, bytes, room > 0 ? room : kAtOnce);
    if (got != Received::kSome) co_return got == Received::kEnd ? Then::kEnded : Then::kBroken;
  }
}

asio::awaitable<ConnectionRelay::Then> ConnectionRelay::relay_named(Proof proof, std::string first,
                                                                    std::size_t passed) {
  PolicyInspector inspector(state_);
  ConnectionVerdict shown;
  const bool named = co_await inspector.read_shown_host(connection_->client, shown, proof, first);
  if (connection_->broken) co_return Then::kBroken;  // cut meanwhile
  if (!named) shown.host = current_host().name;
  const char* reason = nullptr;
  if (named) {
    reason = co_await why_not_for(shown.host);
    if (connection_->broken) co_return Then::kBroken;
  } else if (proof == Proof::kHttp ||
             shown.reason != kNamesNoHost) {  // TLS without a name goes by the address
    reason = refuse(shown.host, shown.reason.c_str());
  }
  auto then = Then::kBroken;
  if (reason != nullptr) {
    // Once the server has a part of the line, or has answered, the gate's answer would mislead the
    // client.
    if (proof != Proof::kHttp || connection_->record.received > 0 || passed > 0) co_return then;
    then = co_await answer_refused(reason, shown.host, first);
    co_return then;
  }
  connection_->expected = proof;
  if (proof == Proof::kHttp) {
    then = co_await relay_requests(std::move(first), passed);
  } else {
    then = co_await relay_hellos(std::move(first), shown.proof_size, passed);
  }
  co_return then;
}

asio::awaitable<ConnectionRelay::Then> ConnectionRelay::answer_refused(const char* reason,
                                                                       const std::string& host,
                                                                       const std::string& first) {
  const ResponseForm form = response_form(first);
  if (form == ResponseForm::kNothing || form == ResponseForm::kMore) co_return Then::kBroken;
  auto response = refusal_response(why_refused(reason, host, current_host().facts.to), form);
  const bool sent = co_await send_all(connection_->client, std::move(response));
  const bool ended = sent && ::shutdown(connection_->client.native_handle(), SHUT_WR) == 0;
  co_return ended ? Then::kRefused : Then::kBroken;
}

}  // namespace cay::gate
