#include "gate/sandbox_egress.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "async/deadline.h"
#include "base/bounded_call.h"
#include "gate/broker_transfer.h"
#include "gate/connection_relay.h"
#include "gate/handover.h"
#include "gate/inspectors.h"
#include "gate/stand_ins.h"
#include "gate/written_rules.h"
#include "wire/guest_network.h"

namespace cay::gate {
namespace {

constexpr Millis kOutOfDescriptors{100};
constexpr Millis kDialLimit{10'000};
constexpr Millis kAnswerRefusedLimit{2'000};
constexpr std::uint16_t kDnsPort = 53;
constexpr std::size_t kPerFamily = 2;  // TCP, then UDP

std::vector<Descriptor> descriptors_of(asio::any_io_executor loop, std::vector<UniqueFd> sockets) {
  std::vector<Descriptor> out;
  for (UniqueFd& fd : sockets) out.emplace_back(loop, fd.release());
  return out;
}

std::vector<Descriptor*> listeners_of(std::vector<Descriptor>& sockets) {
  std::vector<Descriptor*> out;
  for (std::size_t i = 0; i + 1 < sockets.size(); i += kPerFamily) {
    tune(sockets[i].native_handle());
    out.push_back(&sockets[i]);
  }
  return out;
}

// An address of the sandbox itself: nothing is served there.
bool is_own(const IpAddress& address) {
  static const auto guest_v4 = IpAddress::parse(wire::kGuestV4);
  static const auto guest_v6 = IpAddress::parse(wire::kGuestV6);
  static const auto loopback_v6 = IpAddress::parse("::1");
  static const auto loopback_v4 = *Network::parse("127.0.0.0/8");
  return address == guest_v4 || address == guest_v6 || address == loopback_v6 ||
         loopback_v4.contains(address);
}

// Drops what the client sends until it ends. A socket that is closed with unread bytes is reset,
// and the gate's answer is lost with it.
Task<void> drain(Descriptor& client) {
  for (;;) {
    co_await give_way();
    std::string ignored;
    const Received received = co_await receive(client, ignored);
    if (received != Received::kSome) co_return Result<void>();
  }
}

// A lack of descriptors, memory or ports of this host: neither the server nor a policy caused it.
bool is_our_failure(int err) {
  return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS ||
         err == EADDRNOTAVAIL || err == EAGAIN;
}

std::string reason_of(const Error& error) {
  if (error.reason.starts_with("proxy_")) return error.reason;
  if (error.code == Code::kDeadlineExceeded) return "no_answer";
  if (error.os_errno == ECONNREFUSED) return "refused_by_host";
  return is_our_failure(error.os_errno) ? kGateFailed : "unreachable";
}

// An address that stands in for a name is no address of anybody.
Decisions::What decision_of(const ConnectionVerdict& verdict) {
  auto out = verdict.decision();
  const IpAddress& address = verdict.facts.to.address;
  if (UpstreamProxy::stand_ins().contains(address) || is_asked_stand_in(address))
    out.address.clear();
  return out;
}

}  // namespace

SandboxEgress::SandboxEgress(GateContext& context, const std::string& sandbox_id,
                             const std::string& policy, std::vector<UniqueFd> sockets)
    : lent_(policy),
      state_(context, sandbox_id,
             EgressPolicy(read_written_rules(context, sandbox_id, policy), *context.policies)),
      sockets_(descriptors_of(context.loop, std::move(sockets))),
      limiter_(context, listeners_of(sockets_)),
      children_(context.loop),
      dns_(state_, children_) {}

SandboxEgress::~SandboxEgress() {
  wire::BrokerRoutes none;
  none.sandbox_id = state_.id;
  if (state_.context.handover != nullptr) state_.context.handover->written(none);
}

asio::awaitable<void> SandboxEgress::run() {
  const Counted counted(state_.context.sandboxes);
  for (std::size_t i = 0; i + 1 < sockets_.size(); i += kPerFamily) {
    children_.spawn(accept_all(sockets_[i]));
    children_.spawn(dns_.serve_datagrams(sockets_[i + 1]));
  }
  children_.spawn(state_.journal.report_open());
  children_.spawn(state_.questions.keep_written());
  std::exception_ptr failure;
  try {
    co_await children_.until(state_.journal.keep_written());
  } catch (...) {
    failure = std::current_exception();
  }
  state_.journal.close();  // the connections have reported what they moved
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> SandboxEgress::accept_all(Descriptor& listener) {
  for (int in_a_row = 0;; ++in_a_row) {
    if (in_a_row >= kMostInARow) {
      in_a_row = 0;
      co_await give_way();
    }
    // The keeper has the listener too, and could make the gate wait: it then listens no more.
    UniqueFd fd(bounded([&] {
      return ::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }));
    if (!fd && errno == EAGAIN) {
      co_await readable(listener);
      continue;
    }
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      co_await sleep_for(kOutOfDescriptors);
      continue;
    }
    if (!fd && errno == ECONNABORTED) continue;
    if (!fd) co_return;
    on_close(fd.get(), OnClose::kReset);
    const char* reason = nullptr;
    auto place = limiter_.admit(reason);
    if (!place) {
      state_.journal.note(
          {.host = "*", .address = {}, .port = 0, .allowed = false, .reason = reason});
      continue;
    }
    set_buffers(fd.get(), SocketMemory::inside(place->buffers));
    state_.context.wakeful.came();
    children_.spawn(serve(std::move(fd), std::move(place)));
  }
}

asio::awaitable<void> SandboxEgress::serve(UniqueFd fd,
                                           std::shared_ptr<const ConnectionLimiter::Place> place) {
  const auto meant = original_destination(fd.get());
  if (!meant || is_own(meant->address)) co_return;
  Descriptor client(state_.context.loop, fd.release());
  if (meant->port == kDnsPort) {
    co_await dns_.serve_stream(client);
    co_return;
  }

  std::string first, host;
  auto owner = BrokerInspector::Owner::kPolicy;
  if (!state_.journal.quotas().is_used_up()) {
    BrokerInspector brokers(state_);
    owner = co_await brokers.owner_of(client, *meant, first, host);
  }
  if (owner == BrokerInspector::Owner::kBroker) {
    co_await hand_over(state_, std::move(client), *meant, std::move(host), std::move(first),
                       place->buffers);
    co_return;
  }

  const bool is_fenced = owner == BrokerInspector::Owner::kNobody;
  auto verdict = co_await inspect(client, *meant, is_fenced, host, first);
  if (!verdict.reason.empty()) {
    co_await answer_refused(client, verdict, std::move(first));
    co_return;
  }
  auto server = co_await dial(verdict, place->buffers);
  if (!server) co_return;
  co_await relay(std::move(client), *std::move(server), std::move(verdict), std::move(first),
                 place->buffers);
}

asio::awaitable<ConnectionVerdict> SandboxEgress::inspect(Descriptor& client, Endpoint meant,
                                                          bool is_fenced, const std::string& host,
                                                          std::string& first) {
  PolicyInspector inspector(state_);
  auto verdict = co_await inspector.decide(client, meant, first);
  const Handover* const handover = state_.context.handover;
  const bool may_be_fenced =
      meant.port == kHttpPort && handover != nullptr && handover->any_fence(state_.id);
  if (verdict.reason.empty() && verdict.proof == Proof::kNone && may_be_fenced) {
    // The client may know a fenced host's address by another name, so each request shows its Host.
    co_await inspector.read_shown_host(client, verdict, Proof::kHttp, first);
  }
  if (verdict.reason.empty() && (is_fenced || state_.is_past_a_fence(verdict.facts, host))) {
    verdict.refuse("fenced");
  }
  if (!verdict.reason.empty() && verdict.reason != kTooManyNewNames) {
    auto line = decision_of(verdict);
    line.port = meant.port;
    state_.journal.note(line);
  }
  co_return verdict;
}

asio::awaitable<void> SandboxEgress::answer_refused(Descriptor& client,
                                                    const ConnectionVerdict& verdict,
                                                    std::string first) {
  const bool is_plain = verdict.facts.to.port == kHttpPort || verdict.proof == Proof::kHttp;
  if (!verdict.refused || !is_plain) co_return;
  auto reading = read_response_form(client, std::move(first));
  const auto form = co_await with_deadline(std::move(reading), kAnswerRefusedLimit, "a request");
  if (!form || *form == ResponseForm::kNothing) co_return;
  const std::string sentence = why_refused(verdict.reason, verdict.host, verdict.facts.to);
  const bool sent = co_await send_all(client, refusal_response(sentence, *form));
  if (!sent || ::shutdown(client.native_handle(), SHUT_WR) != 0) co_return;
  auto draining = drain(client);
  const auto gone = co_await with_deadline(std::move(draining), kAnswerRefusedLimit, "its end");
  if (gone) on_close(client.native_handle(), OnClose::kFinish);
}

asio::awaitable<std::optional<UpstreamProxy::Opened>> SandboxEgress::dial(
    ConnectionVerdict& verdict, Buffers buffers) {
  GateContext& context = state_.context;
  const Endpoint to = verdict.facts.to;
  // A rule may have allowed the address of a stand-in, which leads nowhere without its name.
  const bool stands_in = UpstreamProxy::stand_ins().contains(to.address);
  if (stands_in && verdict.host.empty() && !verdict.facts.names.empty()) {
    verdict.host = verdict.facts.names.front();
  }
  auto reached = co_await context.proxy.reach(context.loop, context.resolver, verdict.host, to,
                                              context.memory.outside(buffers), kDialLimit);
  if (verdict.by_policy != state_.policy_number) {  // the policy has changed meanwhile
    const auto now = state_.policy.decide(verdict.facts);
    verdict.rule = now.rule;
    if (!now.allowed()) {
      verdict.refuse("policy_changed");
      state_.journal.note(verdict.decision());
      co_return std::nullopt;
    }
    if (verdict.proof == Proof::kNone) {
      verdict.inspect_late = state_.policy.depends_on_names(to);
    }
  }
  if (state_.journal.quotas().is_used_up()) {
    verdict.refuse(kBytesUsedUp);
    state_.journal.note(verdict.decision());
    co_return std::nullopt;
  }
  if (!reached) {
    verdict.reason = reason_of(reached.error());
    state_.journal.note(decision_of(verdict));
    co_return std::nullopt;
  }
  on_close(reached->socket.get(), OnClose::kReset);
  tune(reached->socket.get());
  co_return *std::move(reached);
}

asio::awaitable<void> SandboxEgress::relay(Descriptor client, UpstreamProxy::Opened server,
                                           ConnectionVerdict verdict, std::string first,
                                           Buffers buffers) {
  const auto connection = std::make_shared<ProxiedConnection>(
      state_.context.loop, std::move(client),
      Descriptor(state_.context.loop, server.socket.release()), state_.journal.quotas());
  Decisions::What what = decision_of(verdict);
  Decisions::Line line;
  state_.journal.note(what, &line);
  ConnectionRecord& record = connection->record;
  record.hosts.push_back(
      {.facts = std::move(verdict.facts), .name = verdict.host, .line = std::move(line)});
  record.inspects_names = verdict.inspect_late;
  record.cut = [&one = *connection] { cut(one); };
  connection->early = std::move(server.early);

  const EgressJournal::Entry entry(state_.journal, record);
  ConnectionRelay relay(state_, connection);
  co_await relay.run({std::move(first), verdict.proof, verdict.proof_size}, buffers);
  if (connection->starved) {
    what.reason = kGateFailed;
    state_.journal.note(what);
  }
  // Until both sides have all that was sent, the connection may still be cut.
  if (connection->broken) co_return;
  co_await delivered(connection->client.native_handle());
  co_await delivered(connection->server.native_handle());
  if (connection->broken) co_return;
  on_close(connection->client.native_handle(), OnClose::kFinish);
  on_close(connection->server.native_handle(), OnClose::kFinish);
}

void SandboxEgress::check_fences() {
  for (ConnectionRecord* one : state_.journal.open()) {
    const auto is_past = [this](const ConnectionRecord::Host& host) {
      return state_.is_past_a_fence(host.facts, {});
    };
    const auto past = std::ranges::find_if(one->hosts, is_past);
    if (past == one->hosts.end()) continue;
    state_.journal.note({.host = past->name,
                         .address = past->facts.to.address.text(),
                         .port = past->facts.to.port,
                         .allowed = false,
                         .reason = "fenced"});
    one->cut();
  }
}

void SandboxEgress::reload_policy() {
  policy::Choice choice = read_written_rules(state_.context, state_.id, lent_);
  check_fences();
  for (const wire::QuestionAnswer& one : read_written_answers(state_.context, state_.id))
    state_.questions.answer(one.id, one.allowed);
  if (choice == state_.policy.choice()) return;
  state_.policy = EgressPolicy(std::move(choice), *state_.context.policies);
  ++state_.policy_number;
  state_.journal.go_by(state_.policy.choice());
  const auto changed = [](const std::string& host, const Endpoint& to, std::string rule) {
    return Decisions::What{.host = host,
                           .address = to.address.text(),
                           .port = to.port,
                           .allowed = false,
                           .reason = "policy_changed",
                           .rule = std::move(rule)};
  };
  for (ConnectionRecord* one : state_.journal.open()) {
    for (const ConnectionRecord::Host& host : one->hosts) {
      const auto verdict = state_.policy.decide(host.facts);
      // If names begin to matter, the first bytes may have named a host that nobody judged.
      const bool was_inspected =
          one->inspects_names || host.facts.shown || !state_.policy.depends_on_names(host.facts.to);
      if (verdict.allowed() && was_inspected) continue;
      state_.journal.note(changed(host.name, host.facts.to, verdict.rule));
      one->cut();
      break;
    }
  }
  state_.questions.policy_changed([this](const std::string& host, std::uint16_t port) {
    return state_.policy_decides(host, port);
  });
  const auto is_refused = [this](const HandedOver::One& one) {
    return !state_.policy.opens_proxy_hosts() ||
           (one.by_policy && !state_.policy.allows_fenced_host(one.host, one.meant.port));
  };
  state_.journal.handed_over().cut(is_refused, [&](const HandedOver::One& one) {
    state_.journal.note(changed(one.host, one.meant, {}));
  });
}

}  // namespace cay::gate
