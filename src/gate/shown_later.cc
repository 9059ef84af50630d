// What a guest says over a connection whose rule asks for no proof. Such a rule is for any protocol, those in which the server speaks first among them, so
// nothing waits for it; but where the guest names a host after all, that one is judged.
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gate/both.h"
#include "gate/door.h"
#include "gate/said_no.h"
#include "gate/told_apart.h"

namespace cay::gate {
namespace {

// To a request that went nowhere.
asio::awaitable<bool> answers_no(Descriptor& guest, std::string sentence, std::string_view request) {
  const Asks asks = what_it_asks(request);
  if (asks == Asks::kNothing || asks == Asks::kMore) co_return false;
  const bool taken = co_await send_all(guest, said_no(sentence, asks));
  co_return taken && ::shutdown(guest.native_handle(), SHUT_WR) == 0;
}

}  // namespace

// What may become a request yet goes on as it comes, for whoever waits for an answer to it: a line that has not ended is none to a server either.
asio::awaitable<Door::Then> Door::by_what_it_shows(std::shared_ptr<Both> both, std::string first) {
  std::size_t gone = 0;  // of it
  bool began_empty = false;
  std::uint64_t received = 0;  // when the first of it was said
  std::optional<Proof> as;
  Looked looked;
  for (;;) {
    // Servers pass over empty lines before a request.
    const std::size_t empty = std::min(first.find_first_not_of("\r\n"), first.size());
    if (empty > 0) {
      const auto then = co_await say(both, first.substr(0, empty));
      if (then == Then::kBroken) co_return then;
      first.erase(0, empty);
      began_empty = true;
    }
    // No server answers to a part of a request's line: what is answered are words of another protocol, whatever follows them.
    const bool answered = gone > 0 && both->moved.received > received;
    as = answered && is_no_request_yet(std::string_view(first).substr(0, gone), &looked) ? std::optional(Proof::kNone) : told_apart(first, false, &looked);
    if (gone == 0) received = both->moved.received;
    // TLS begins with the client: behind a greeting such a first byte is a length (of a login of MySQL's).
    if (as == Proof::kTls && !began_empty && received > 0) as = Proof::kNone;
    if (as) break;
    const auto then = co_await say(both, first.substr(gone));
    if (then == Then::kBroken) co_return then;
    keep_what_tells(first, &looked);
    gone = first.size();
    co_await give_way();
    const Heard heard = co_await hear(both->guest, first, kMostFirstBytes - first.size());
    if (heard == Heard::kEnd && told_apart(first, true, &looked) == Proof::kNone) co_return Then::kEnded;
    if (heard == Heard::kEnd) refuse_more(*both, both->moved.asked.back().host, "said_too_little");
    if (heard != Heard::kSome) co_return Then::kBroken;
  }
  // What a proxy says before a client's own words, in its second form, begins with empty lines and a NUL.
  if (began_empty && first.front() == '\0') {
    refuse_more(*both, both->moved.asked.back().host, kNamesNoHost);
    co_return Then::kBroken;
  }
  if (*as == Proof::kNone) {
    first.erase(0, gone);
    const auto then = co_await say(both, std::move(first));
    co_return then;
  }
  Verdict shown;
  const bool named = co_await shows_host(both->guest, shown, *as, first);
  if (both->broken) co_return Then::kBroken;  // cut meanwhile
  // Without a server name a server shows what it shows by its address, as in any protocol that names nobody.
  const bool names_nobody = *as == Proof::kTls && shown.reason == kNamesNoHost;
  if (!named) shown.host = both->moved.asked.back().host;
  const char* why_not = nullptr;
  if (named) {
    why_not = co_await why_not_for(both, shown.host);
    if (both->broken) co_return Then::kBroken;
  } else if (!names_nobody) {
    why_not = refuse_more(*both, shown.host, shown.reason.c_str());
  }
  if (why_not != nullptr) {
    // With a part of its line said, an end would make a request of that for some servers.
    if (*as != Proof::kHttp || both->moved.received > 0 || gone > 0) co_return Then::kBroken;
    const bool told = co_await answers_no(both->guest, why_refused(why_not, shown.host, both->moved.asked.back().facts.to), first);
    co_return told ? Then::kRefused : Then::kBroken;
  }
  both->answers = as;
  auto then = Then::kMoveAll;
  if (*as == Proof::kHttp) {
    then = co_await request_by_request(both, std::move(first), gone);
  } else {
    then = co_await hello_by_hello(both, std::move(first), shown.proof_size, gone);
  }
  co_return then;
}

}  // namespace cay::gate
