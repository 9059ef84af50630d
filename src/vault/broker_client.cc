#include "vault/broker_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "async/deadline.h"
#include "gate/broker_frames.h"
#include "os/told_line.h"
#include "os/unix_socket.h"
#include "vault/broker.h"
#include "vault/routes_file.h"
#include "vault/rules.h"

namespace cay::vault {
namespace {

using gate::Descriptor;

constexpr Millis kAnswerLimit{10'000};
constexpr Millis kRetry{50};
constexpr int kRetries = 60;  // a broker that died is back within a moment

Error unavailable(const std::string& why) {
  return {
      Code::kUnavailable, "vault_unavailable",
      "the broker, which keeps secrets, does not answer (" + why +
          "): it is started again by itself; if that lasts, see DATA/broker.log and `cay doctor`",
      0};
}

// Nobody serves, and the broker said why.
std::optional<Error> locked(const std::string& socket) {
  const std::string why = os::told_line(socket.substr(0, socket.rfind('/') + 1) + kRefusalFile);
  if (why.empty() || os::connect_unix(socket, SOCK_NONBLOCK)) return std::nullopt;
  return Error{Code::kUnavailable, "vault_locked",
               why +
                   "; then start the broker anew (systemctl restart cay-broker; without units: cay "
                   "broker --stop, and cay serve again)",
               0};
}

wire::VaultSecret secret_of(const SecretInfo& info, std::string sealed) {
  return {info.tenant.get(), info.name, info.version, info.hosts, std::move(sealed)};
}

wire::VaultRule rule_of(const ProxyRule& rule, const StoredSecret& secret) {
  wire::VaultRule out;
  out.name = rule.name;
  out.token = rule.token;
  out.way = static_cast<std::uint8_t>(rule.way);
  out.hosts = rule.hosts;
  out.methods = rule.methods;
  out.gone = rule.gone;
  out.paths = rule.paths;
  for (const ProxyHeader& header : rule.headers)
    out.headers.push_back({header.name, header.value, header.basic_user});
  out.secret = secret_of(secret.info, secret.sealed);
  return out;
}

wire::VaultGrant grant_of(const core::ProxyGrant& grant) {
  wire::VaultGrant out;
  out.sandbox_id = grant.sandbox.get();
  out.tenant = grant.tenant.get();
  for (const auto& [rule, secret] : grant.rules) out.rules.push_back(rule_of(rule, secret));
  return out;
}

}  // namespace

Task<std::string> BrokerClient::ask_once(std::string question) {
  auto fd = os::connect_unix(path_, SOCK_NONBLOCK);
  if (!fd) {
    Error nobody{Code::kUnavailable, "vault_unavailable", std::move(fd).error().message, 0};
    co_return nobody;
  }
  Descriptor broker(loop_, fd->release());
  CAY_CO_CHECK(co_await gate::send_frame(broker, std::move(question)));
  gate::FrameReader reader;
  auto answer = co_await reader.next(broker);
  co_return answer;
}

Task<wire::VaultAnswer> BrokerClient::answer_to(wire::VaultAsk question) {
  const std::string bytes = wire::encode(question);
  Result<std::string> answer;
  for (int i = 0; i < kRetries; ++i) {
    auto asking = ask_once(bytes);
    answer = co_await with_deadline(std::move(asking), kAnswerLimit, "the broker's answer");
    if (answer ||
        (answer.error().reason != "vault_unavailable" && answer.error().reason != "peer_gone"))
      break;
    co_await sleep_for(kRetry);
  }
  if (!answer) co_return locked(path_).value_or(unavailable(answer.error().message));
  auto read = wire::decode<wire::VaultAnswer>(*answer);
  if (!read) co_return unavailable("its answer cannot be read");
  if (read->code != 0) {
    const bool known = read->code <= static_cast<std::uint8_t>(Code::kInternal);
    co_return Error{known ? static_cast<Code>(read->code) : Code::kInternal,
                    std::move(read->reason), std::move(read->message), 0};
  }
  co_return *std::move(read);
}

Task<std::string> BrokerClient::ask(wire::VaultAsk question) {
  CAY_CO_TRY(wire::VaultAnswer answer, co_await answer_to(std::move(question)));
  co_return std::move(answer.bytes);
}

// It has it written, and the broker tells it too: one that does not answer keeps nobody waiting for
// the broker.
asio::awaitable<void> BrokerClient::tell_gate(std::string sandbox_id) {
  if (!tell_gate_) co_return;
  const std::uint64_t time = ++times_;
  untold_[sandbox_id] = time;
  auto telling = tell_gate_(SandboxId(sandbox_id));
  const auto told = co_await std::move(telling);
  const auto of_it = untold_.find(sandbox_id);
  if (told && of_it != untold_.end() && of_it->second == time) untold_.erase(of_it);
}

Task<core::Granted> BrokerClient::grant_by(wire::VaultAsk question, Result<bool> written) {
  if (!written) co_return std::move(written).error();
  if (*written) {
    co_await tell_gate(question.grant.sandbox_id);
  }
  CAY_CO_TRY(wire::VaultAnswer answer, co_await answer_to(std::move(question)));
  co_return core::Granted{std::move(answer.bytes), std::move(answer.unusable)};
}

Task<void> BrokerClient::take_back(wire::VaultAsk question, Result<bool> written) {
  if (written && *written) {
    co_await tell_gate(question.names.front());
  }
  auto done = co_await tell(std::move(question));
  if (done && !written) co_return std::move(written).error();
  co_return done;
}

Task<void> BrokerClient::tell_only(wire::VaultAsk question, Result<void> written) {
  const auto untold = untold_;
  for (const auto& [id, time] : untold) {
    co_await tell_gate(id);
  }
  auto done = co_await tell(std::move(question));
  if (done && !written) co_return std::move(written).error();
  co_return done;
}

Result<void> BrokerClient::write_only(const std::vector<core::ProxyGrant>& all) {
  std::vector<wire::BrokerRoutes> routes;
  for (const core::ProxyGrant& one : all) routes.push_back(routes_of(grant_of(one)));
  for (const std::string& id : routes_written(data_)) {
    if (std::ranges::find(routes, id, &wire::BrokerRoutes::sandbox_id) != routes.end()) continue;
    routes.emplace_back().sandbox_id = id;
  }
  Result<void> done;
  for (const wire::BrokerRoutes& one : routes) {
    auto other = write_routes(data_, one);
    if (other && (*other || !found_)) untold_[one.sandbox_id] = ++times_;
    if (!other) done = std::move(other).error();
  }
  found_ = true;
  return done;
}

Task<void> BrokerClient::tell(wire::VaultAsk question) {
  auto done = co_await ask(std::move(question));
  if (!done) co_return std::move(done).error();
  co_return Result<void>();
}

Task<std::string> BrokerClient::public_key() {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kPublicKey;
  return ask(std::move(question));
}

Task<std::string> BrokerClient::seal(SecretInfo about, std::string box) {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kSeal;
  question.secret = secret_of(about, "");
  question.bytes = std::move(box);
  return ask(std::move(question));
}

Task<core::Granted> BrokerClient::grant(core::ProxyGrant grant) {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kGrant;
  question.turn = next_turn();
  question.grant = grant_of(grant);
  auto written = write_routes(data_, routes_of(question.grant));
  return grant_by(std::move(question), std::move(written));
}

Task<void> BrokerClient::revoke(SandboxId sandbox) {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kRevoke;
  question.turn = next_turn();
  question.names.push_back(sandbox.get());
  wire::BrokerRoutes none;
  none.sandbox_id = sandbox.get();
  auto written = write_routes(data_, none);
  return take_back(std::move(question), std::move(written));
}

Task<void> BrokerClient::withdraw(TenantId tenant, std::string name, std::uint64_t least) {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kWithdraw;
  question.secret.tenant = tenant.get();
  question.secret.name = std::move(name);
  question.secret.version = least;
  return tell(std::move(question));
}

Task<void> BrokerClient::keep_only(std::vector<core::ProxyGrant> all) {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kKeepOnly;
  question.turn = next_turn();
  for (const core::ProxyGrant& one : all) question.names.push_back(one.sandbox.get());
  auto written = write_only(all);
  return tell_only(std::move(question), std::move(written));
}

Task<void> BrokerClient::attend(std::function<Task<void>()> tell) {
  auto fd = os::connect_unix(path_, SOCK_NONBLOCK);
  if (!fd) co_return locked(path_).value_or(unavailable(fd.error().message));
  Descriptor broker(loop_, fd->release());
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kHold;
  CAY_CO_CHECK(co_await gate::send_frame(broker, wire::encode(question)));
  gate::FrameReader reader;
  auto reading = reader.next(broker);
  const auto answer =
      co_await with_deadline(std::move(reading), kAnswerLimit, "the broker's answer");
  if (!answer) co_return unavailable(answer.error().message);
  CAY_CO_CHECK(co_await tell());
  for (bool there = true; there;) {
    const auto more = co_await reader.next(broker);
    there = more.has_value();
  }
  co_return Result<void>();
}

Task<void> BrokerClient::begin_rotation() {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kBeginRotation;
  return tell(std::move(question));
}

Task<std::string> BrokerClient::reseal(StoredSecret secret) {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kReseal;
  question.secret = secret_of(secret.info, std::move(secret.sealed));
  return ask(std::move(question));
}

Task<void> BrokerClient::end_rotation() {
  wire::VaultAsk question;
  question.verb = wire::VaultVerb::kEndRotation;
  return tell(std::move(question));
}

}  // namespace cay::vault
