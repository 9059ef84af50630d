// One redirected connection: decided, dialled, moved.
#include <sys/socket.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>

#include "async/deadline.h"
#include "gate/door.h"
#include "gate/first_bytes.h"
#include "wire/guest_network.h"

namespace cay::gate {
namespace {

constexpr Millis kDialLimit{10'000};
constexpr Millis kFirstBytesLimit{10'000};
constexpr std::uint16_t kDnsPort = 53;

Task<Shown> first_bytes_of(Descriptor& guest, Proof proof, std::string& first) {
  for (;;) {
    Shown shown = read_first_bytes(proof, first);
    if (shown.state != Shown::State::kMore) co_return shown;
    char buffer[4096];
    const ssize_t got = ::recv(guest.native_handle(), buffer, std::min(sizeof buffer, kMostFirstBytes - first.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await readable(guest);
      continue;
    }
    if (got <= 0) co_return Error{Code::kCancelled, "guest_gone", "the client left before it said whom it wants", 0};
    first.append(buffer, static_cast<std::size_t>(got));
  }
}

asio::awaitable<bool> send_all(Descriptor& to, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t done = ::send(to.native_handle(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      co_await writable(to);
      continue;
    }
    if (done < 0) co_return false;
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  co_return true;
}

// A connection and its counterpart. Shared by its two directions: a cancelled one may end after the other.
struct Both {
  Both(Descriptor inside, Descriptor outwards) : guest(std::move(inside)), outside(std::move(outwards)) {}
  Descriptor guest, outside;
  std::uint64_t sent = 0, received = 0;
  bool broken = false;
};

enum class Way { kOut, kBack };

// When one direction breaks, the other is woken, and unwinds too.
asio::awaitable<void> one_way(std::shared_ptr<Both> both, Way way, PipePool& pipes) {
  Descriptor& from = way == Way::kOut ? both->guest : both->outside;
  Descriptor& to = way == Way::kOut ? both->outside : both->guest;
  auto end = PumpEnd::kBroken;
  try {
    end = co_await pump(from, to, pipes, way == Way::kOut ? both->sent : both->received);
  } catch (const boost::system::system_error&) {
    if (!both->broken) throw;
  }
  if (end == PumpEnd::kFinished || both->broken) co_return;
  both->broken = true;
  both->guest.cancel();
  both->outside.cancel();
}

bool is_own(const IpAddress& address) {
  return address == IpAddress::parse(wire::kGuestV4) || address == IpAddress::parse(wire::kGuestV6) ||
         Network::parse("127.0.0.0/8")->contains(address) || address == IpAddress::parse("::1");
}

}  // namespace

asio::awaitable<void> Door::serve(UniqueFd fd) {
  const Counted counted(connections_);
  const auto meant = original_destination(fd.get());
  if (!meant || is_own(meant->address)) co_return;  // somebody inside found the gate's own port: nothing is there
  tune(fd.get());
  Descriptor guest(house_.loop, fd.release());
  if (meant->port == kDnsPort) {
    co_await answer_stream(guest);
    co_return;
  }
  std::string first;
  auto verdict = co_await decide(guest, *meant, first);
  if (!verdict.refused.empty()) {
    note({.host = verdict.host, .address = verdict.to.address.text(), .port = meant->port, .allowed = false, .reason = verdict.refused});
    co_return;
  }
  co_await connect(std::move(guest), std::move(verdict), std::move(first));
}

asio::awaitable<Door::Verdict> Door::decide(Descriptor& guest, Endpoint meant, std::string& first) {
  Verdict out{meant, {}, {}};
  const auto names = names_.of(meant.address);
  if (policy_.reaches_everything()) {
    if (!names.empty()) out.host = names.front();
    if (!house_.reachable.may_dial(meant.address)) out.refused = "private_address";
    co_return out;
  }
  // An address that the operator lists by itself, or a name that needs to show nothing.
  std::vector<std::string> candidates = names;
  candidates.push_back(meant.address.text());
  for (const std::string& candidate : candidates) {
    const auto proof = policy_.reach(candidate, meant.port);
    if (!proof || *proof != Proof::kNone) continue;
    out.host = candidate;
    if (!house_.reachable.may_dial(meant.address)) out.refused = "private_address";
    co_return out;
  }
  const auto proof = policy_.proof_at(meant.port);
  if (!proof || *proof == Proof::kNone) {
    if (!names.empty()) out.host = names.front();
    out.refused = names.empty() ? "not_in_policy" : "port_not_in_policy";
    co_return out;
  }
  auto shown = co_await by_first_bytes(guest, meant, *proof, first);
  co_return shown;
}

asio::awaitable<Door::Verdict> Door::by_first_bytes(Descriptor& guest, Endpoint meant, Proof proof, std::string& first) {
  Verdict out{meant, {}, {}};
  auto reading = first_bytes_of(guest, proof, first);
  auto shown = co_await with_deadline(std::move(reading), kFirstBytesLimit, "the first bytes");
  if (!shown || shown->state != Shown::State::kName) {
    const bool nobody = shown && shown->state == Shown::State::kNone;
    out.refused = nobody ? "names_no_host" : proof == Proof::kTls ? "not_tls" : "not_http";
    co_return out;
  }
  out.host = shown->host;
  if (!policy_.reach(out.host, meant.port)) {
    out.refused = "not_in_policy";
    co_return out;
  }
  // An address that this name was not found at (or not by this gate) is not dialled: one of the name's own is.
  const auto names = names_.of(meant.address);
  if (std::ranges::find(names, out.host) == names.end()) {
    auto found = co_await house_.resolver.resolve(out.host);
    const auto fit = std::ranges::find_if(found.addresses, [&](const IpAddress& one) { return house_.reachable.may_dial(one); });
    if (fit == found.addresses.end()) {
      out.refused = found.addresses.empty() ? "name_not_found" : "private_address";
      co_return out;
    }
    const bool same = std::ranges::find(found.addresses, meant.address) != found.addresses.end();
    if (!same) out.to.address = *fit;
  }
  if (!house_.reachable.may_dial(out.to.address)) out.refused = "private_address";
  co_return out;
}

asio::awaitable<void> Door::connect(Descriptor guest, Verdict verdict, std::string first) {
  auto dialled = co_await dial(house_.loop, verdict.to, kDialLimit);
  Decisions::What what{.host = verdict.host, .address = verdict.to.address.text(), .port = verdict.to.port, .allowed = true, .reason = {}};
  if (!dialled) {
    const int err = dialled.error().os_errno;
    what.reason = dialled.error().code == Code::kDeadlineExceeded ? "no_answer" : err == ECONNREFUSED ? "refused_by_host" : "unreachable";
    note(what);
    co_return;
  }
  on_close(dialled->get(), OnClose::kReset);
  tune(dialled->get());
  const auto both = std::make_shared<Both>(std::move(guest), Descriptor(house_.loop, dialled->release()));
  Decisions::Line line;
  note(what, &line);
  both->sent = first.size();
  const bool opened = co_await send_all(both->outside, std::move(first));
  if (!opened) co_return;
  Scope way_back(house_.loop);
  way_back.spawn(one_way(both, Way::kBack, house_.pipes));
  co_await one_way(both, Way::kOut, house_.pipes);
  co_await way_back.join();
  decisions_.moved(line, both->sent, both->received);
  written_.set();
  if (both->broken) co_return;
  on_close(both->guest.native_handle(), OnClose::kFinish);
  on_close(both->outside.native_handle(), OnClose::kFinish);
}

}  // namespace cay::gate
