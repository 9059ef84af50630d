// What a guest says over a connection that was let through by its first bytes: what would make it another connection is judged as those were.
#include <sys/socket.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <utility>

#include "async/deadline.h"
#include "gate/both.h"
#include "gate/door.h"
#include "gate/requests.h"

namespace cay::gate {
namespace {

constexpr Millis kNextHelloLimit{10'000};
constexpr Millis kLastAnswersLimit{5'000};
constexpr std::size_t kMostHosts = 16;  // of one connection: clients have one for each

Task<Shown> next_hello_of(Descriptor& guest, std::string& bytes) {
  for (;;) {
    Shown shown = read_next_hello(bytes);
    if (shown.state != Shown::State::kMore) co_return shown;
    const Heard heard = co_await hear(guest, bytes);
    if (heard != Heard::kSome) co_return Error{Code::kCancelled, "guest_gone", "the client left before its next ClientHello", 0};
  }
}

// What is said behind a refused request goes nowhere; unread it would reset the connection, and with it the answers to those before.
asio::awaitable<void> ignore(std::shared_ptr<Both> both) {
  try {
    for (auto heard = Heard::kSome; heard == Heard::kSome;) {
      co_await give_way();
      std::string ignored;
      heard = co_await hear(both->guest, ignored);
    }
  } catch (const boost::system::system_error&) {
    if (!both->broken) throw;
  }
}

asio::awaitable<void> last_answers(std::shared_ptr<Both> both) {
  const bool in_time = co_await both->heard_out.wait_for(kLastAnswersLimit);
  if (!in_time) cut(*both);
}

// What is said behind the last request goes nowhere. An empty line is how old clients end a body.
asio::awaitable<void> hear_behind(std::shared_ptr<Both> both, std::string said) {
  try {
    for (;;) {
      if (said.find_first_not_of("\r\n") != std::string::npos) both->says_more = true;
      said.clear();
      co_await give_way();
      const Heard heard = co_await hear(both->guest, said);
      if (heard == Heard::kBroken) co_return break_off(*both);
      if (heard == Heard::kEnd) {
        static_cast<void>(::shutdown(both->outside.native_handle(), SHUT_WR));  // where that fails, the server has ended
        co_return;
      }
    }
  } catch (const boost::system::system_error&) {
    if (!both->broken) throw;
  }
}

// Until the server ends, as it was told to. One that does not is cut where the guest wants more and the answer, which has begun, is silent; the guest asks
// again over a connection of its own. `before`: what had been received when it was asked.
asio::awaitable<void> last_answer(std::shared_ptr<Both> both, std::uint64_t before) {
  for (std::uint64_t seen = before;;) {
    const bool ended = co_await both->heard_out.wait_for(kLastAnswersLimit);
    if (ended) co_return;
    const std::uint64_t received = both->moved.received;
    if (both->says_more && received > before && received == std::exchange(seen, received)) co_return cut(*both);
  }
}

}  // namespace

// Both directions, until both have ended or one broke.
asio::awaitable<void> Door::way_out(std::shared_ptr<Both> both, Said first, Buffers buffers) {
  const bool may_show = first.proof == Proof::kNone && both->moved.is_heard;
  if (first.proof == Proof::kTls || may_show) both->answers = first.proof;
  if (first.proof == Proof::kHttp) {
    Requests requests;
    requests.add(first.bytes);
    if (requests.next().may_switch) both->answers = Proof::kHttp;
  }
  Scope way_back(house_.loop);
  way_back.spawn(one_way(both, Way::kBack, house_.pipes, buffers));
  auto then = Then::kBroken;
  try {
    if (may_show) {
      then = co_await inspect_late(both, std::move(first.bytes));
    } else if (first.proof == Proof::kHttp) {
      then = co_await request_by_request(both, std::move(first.bytes));
    } else if (first.proof == Proof::kTls) {
      then = co_await hello_by_hello(both, std::move(first.bytes), first.proof_size);
    } else {
      then = co_await say(both, std::move(first.bytes));
    }
  } catch (const boost::system::system_error&) {
    if (!both->broken) throw;
  }
  if (then == Then::kMoveAll && !both->broken) {
    co_await one_way(both, Way::kOut, house_.pipes, buffers);
  } else if (then == Then::kEnded && !both->broken) {
    if (::shutdown(both->outside.native_handle(), SHUT_WR) != 0) break_off(*both);
  } else if (then == Then::kRefused && !both->broken && ::shutdown(both->outside.native_handle(), SHUT_WR) == 0) {
    // What was asked for before is still answered; then the server ends, and most clients ask again over a connection of its own, where they are told.
    Scope ignoring(house_.loop);
    ignoring.spawn(ignore(both));
    auto answers = last_answers(both);
    co_await ignoring.until(std::move(answers));
  } else if (then != Then::kAnswered && !both->broken) {
    break_off(*both);
  }
  co_await way_back.join();
}

asio::awaitable<Door::Then> Door::say(std::shared_ptr<Both> both, std::string bytes) {
  const std::size_t size = bytes.size();
  if (!may_pass(*both, Way::kOut, size)) co_return Then::kBroken;
  const bool gone = co_await send_all(both->outside, std::move(bytes));
  if (!gone) co_return Then::kBroken;
  both->moved.sent += size;
  co_return Then::kMoveAll;
}

// The first one was judged before there was a connection. Where that asks for another protocol and the server agrees, what follows is no request any more;
// of later ones none is taken to: then what is said goes on being read as requests.
asio::awaitable<Door::Then> Door::request_by_request(std::shared_ptr<Both> both, std::string first, std::size_t gone) {
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
      const Heard answered = co_await wait_for_answer(*both, kept);
      if (answered != Heard::kSome) co_return answered == Heard::kEnd ? Then::kEnded : Then::kBroken;
      waits = false;
      if (both->answer == FirstAnswer::kSwitches) {
        const auto then = co_await say(both, std::move(kept));
        co_return then;
      }
      requests.add(kept);
    }
    auto part = requests.next();
    if (part.is == Requests::Is::kOver) {
      co_await until_answered(both, requests.take_rest(), received);
      co_return Then::kAnswered;
    }
    if (part.is == Requests::Is::kMore) {
      std::string heard;
      const Heard more = co_await hear(both->guest, heard);
      if (more == Heard::kBroken) co_return Then::kBroken;
      if (more == Heard::kEnd) co_return Then::kEnded;  // what is no whole request goes nowhere
      requests.add(heard);
      continue;
    }
    if (part.is == Requests::Is::kRefused) {
      refuse_more(*both, both->moved.asked.back().host, part.names_nobody ? "names_no_host" : "not_http");
      co_return Then::kRefused;
    }
    if (part.is == Requests::Is::kRequest) {
      waits = !begun && part.may_switch;
      if (begun) {
        const char* const why_not = co_await why_not_for(both, std::move(part.host));
        if (both->broken) co_return Then::kBroken;  // cut meanwhile
        // Nothing is said to it here: whoever is still being answered must not take our words for that answer.
        if (why_not != nullptr) co_return Then::kRefused;
      }
      begun = true;
      received = both->moved.received;
    }
    part.bytes.erase(0, std::exchange(gone, 0));  // of its first line, which goes on as it came
    const auto then = co_await say(both, std::move(part.bytes));
    if (then == Then::kBroken) co_return then;
  }
}

// Nothing tells the server that no more comes: some take a half-closed connection for one that was given up.
asio::awaitable<void> Door::until_answered(std::shared_ptr<Both> both, std::string behind, std::uint64_t before) {
  Scope hearing(house_.loop);
  hearing.spawn(hear_behind(both, std::move(behind)));
  auto answering = last_answer(both, before);
  co_await hearing.until(std::move(answering));
}

// Allowed, and found at the address that the connection leads to, unless nobody asks what that is called. It has a line then; what moves from here on is
// told of there.
asio::awaitable<const char*> Door::why_not_for(std::shared_ptr<Both> both, std::string host) {
  auto& asked = both->moved.asked;
  if (asked.back().host == host && asked.back().facts.shown) co_return nullptr;  // a change of policy has looked at it
  auto look = co_await look_at_rules_in_turn();
  Facts facts{.names = {host}, .shown = host, .to = asked.back().facts.to};
  policy::Verdict said;
  const auto refused = [&] {
    said = ask(facts);
    if (said.allowed()) return static_cast<const char*>(nullptr);
    return refuse_more(*both, host, !standing_.allowed ? standing_.not_allowed : said.rule.empty() ? "not_in_policy" : "denied_by_rule", said.rule);
  };
  if (const char* why = refused()) co_return why;
  const auto names = names_.of(facts.to.address);
  bool is_here = std::ranges::find(names, host) != names.end() || ask({.names = {}, .shown = {}, .to = facts.to}).allowed();
  look.end();
  if (!is_here) {
    if (!may_look_up(host)) co_return left_.is_used_up() ? kBytesUsedUp : kTooManyNewNames;
    const auto found = co_await house_.resolver.resolve(host, id_);
    is_here = std::ranges::find(found.addresses, facts.to.address) != found.addresses.end();
    const auto again = co_await look_at_rules_in_turn();
    if (const char* why = refused()) co_return why;  // meanwhile
  }
  if (is_past_a_fence(facts, {})) co_return refuse_more(*both, host, "fenced");
  // A proxy was asked for the first host alone.
  if (!is_here || house_.proxy.takes(asked.front().host, facts.to.address)) co_return refuse_more(*both, host, "host_mismatch");
  tell(both->moved);  // what moved until here is the last one's
  const auto known = std::ranges::find(asked, host, &Moving::Asked::host);
  if (known != asked.end()) {
    known->facts = std::move(facts);
    std::rotate(known, known + 1, asked.end());
    co_return nullptr;
  }
  if (asked.size() >= kMostHosts) co_return refuse_more(*both, host, "too_many_hosts");
  Moving::Asked next{.facts = std::move(facts), .host = host};
  note({.host = host, .address = next.facts.to.address.text(), .port = next.facts.to.port, .allowed = true, .reason = {}, .rule = said.rule}, &next.line);
  asked.push_back(std::move(next));
  co_return nullptr;
}

const char* Door::refuse_more(const Both& both, const std::string& host, const char* reason, const std::string& rule) {
  const Endpoint& to = both.moved.asked.back().facts.to;
  const bool stands_in = UpstreamProxy::stand_ins().contains(to.address);
  note({.host = host, .address = stands_in ? "" : to.address.text(), .port = to.port, .allowed = false, .reason = reason, .rule = rule});
  return reason;
}

// A server may ask for another ClientHello, in the clear (RFC 8446, 4.1.4). Behind any other answer there is none.
asio::awaitable<Door::Then> Door::hello_by_hello(std::shared_ptr<Both> both, std::string first, std::size_t hello_size, std::size_t gone) {
  const bool names_somebody = read_client_hello(first).state == Shown::State::kName;
  std::string kept = first.substr(hello_size);
  first.resize(hello_size);
  first.erase(0, gone);
  const auto begun = co_await say(both, std::move(first));
  if (begun == Then::kBroken) co_return begun;
  const Heard answered = co_await wait_for_answer(*both, kept);
  if (answered != Heard::kSome) co_return answered == Heard::kEnd ? Then::kEnded : Then::kBroken;
  if (both->answer == FirstAnswer::kRetries) {
    auto reading = next_hello_of(both->guest, kept);
    const auto shown = co_await with_deadline(std::move(reading), kNextHelloLimit, "the next ClientHello");
    const std::string host = both->moved.asked.back().host;
    if (!shown) co_return Then::kBroken;
    const bool named = shown->state == Shown::State::kName;
    if (named ? shown->host != host : shown->state != Shown::State::kNone || names_somebody) {
      refuse_more(*both, named ? shown->host : host, named ? "server_name_changed" : shown->state == Shown::State::kNone ? "names_no_host" : "not_tls");
      cut(*both);
      co_return Then::kBroken;
    }
  }
  const auto then = co_await say(both, std::move(kept));
  co_return then;
}

}  // namespace cay::gate
