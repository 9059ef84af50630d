// Judges a connection that passed without a name, once its first bytes name a host after all.
#include <sys/socket.h>

#include <utility>

#include "gate/both.h"
#include "gate/detect_protocol.h"
#include "gate/door.h"
#include "gate/said_no.h"

namespace cay::gate {

// Bytes go on as they come, so no protocol waits. A request that is refused in the middle of its
// first line is no request to the server: the line never ends there.
asio::awaitable<Door::Then> Door::inspect_late(std::shared_ptr<Both> both, std::string bytes) {
  ProtocolDetector detector;
  std::string first;  // at most kMostFirstBytes: a longer line names no host that can be judged
  std::size_t passed = 0;  // bytes of `first` that the server has
  std::optional<Proof> found;
  for (;;) {
    found = detector.add(bytes);
    first.append(bytes, 0, kMostFirstBytes - first.size());
    // A TLS server never speaks first: after a greeting, such bytes are of another protocol.
    if (found == Proof::kTls && both->moved.received > 0) found = Proof::kNone;
    if (found) break;
    const auto then = co_await say(both, std::exchange(bytes, {}));
    if (then == Then::kBroken) co_return then;
    passed = first.size();
    co_await give_way();
    const std::size_t room = kMostFirstBytes - first.size();
    const Heard heard = co_await hear(both->guest, bytes, room > 0 ? room : kAtOnce);
    if (heard != Heard::kSome) co_return heard == Heard::kEnd ? Then::kEnded : Then::kBroken;
  }
  if (*found == Proof::kNone) {
    const auto then = co_await say(both, std::move(bytes));
    co_return then;
  }
  Verdict shown;
  const bool named = co_await shows_host(both->guest, shown, *found, first);
  if (both->broken) co_return Then::kBroken;  // cut meanwhile
  if (!named) shown.host = both->moved.asked.back().host;
  const char* why_not = nullptr;
  if (named) {
    why_not = co_await why_not_for(both, shown.host);
    if (both->broken) co_return Then::kBroken;
  } else if (*found == Proof::kHttp ||
             shown.reason != kNamesNoHost) {  // TLS without a name goes by the address
    why_not = refuse_more(*both, shown.host, shown.reason.c_str());
  }
  if (why_not != nullptr) {
    // Once the server has a part of the line, or has answered, words of the gate's would mislead.
    if (*found != Proof::kHttp || both->moved.received > 0 || passed > 0) co_return Then::kBroken;
    const Asks asks = what_it_asks(first);
    if (asks == Asks::kNothing || asks == Asks::kMore) co_return Then::kBroken;
    auto words = said_no(why_refused(why_not, shown.host, both->moved.asked.back().facts.to), asks);
    const bool sent = co_await send_all(both->guest, std::move(words));
    co_return sent&& ::shutdown(both->guest.native_handle(), SHUT_WR) == 0 ? Then::kRefused
                                                                           : Then::kBroken;
  }
  both->answers = found;
  auto then = Then::kMoveAll;
  if (*found == Proof::kHttp) {
    then = co_await request_by_request(both, std::move(first), passed);
  } else {
    then = co_await hello_by_hello(both, std::move(first), shown.proof_size, passed);
  }
  co_return then;
}

}  // namespace cay::gate
