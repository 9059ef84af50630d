#include "vault/broker_client.h"

#include <utility>

#include "vault/rules.h"

namespace cay::vault {
namespace {

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

Task<core::Granted> BrokerClient::grant_by(wire::VaultAsk request, Result<bool> written) {
  if (!written) co_return std::move(written).error();
  if (*written) {
    co_await notices_.send(request.grant.sandbox_id);
  }
  CAY_CO_TRY(wire::VaultAnswer answer, co_await broker_.response(std::move(request)));
  co_return core::Granted{std::move(answer.bytes), std::move(answer.unusable)};
}

Task<void> BrokerClient::take_back(wire::VaultAsk request, Result<bool> written) {
  if (written && *written) {
    co_await notices_.send(request.names.front());
  }
  auto done = co_await broker_.done(std::move(request));
  if (done && !written) co_return std::move(written).error();
  co_return done;
}

Task<void> BrokerClient::send_all(wire::VaultAsk request, Result<void> written) {
  co_await notices_.send_pending();
  auto done = co_await broker_.done(std::move(request));
  if (done && !written) co_return std::move(written).error();
  co_return done;
}

Task<std::string> BrokerClient::public_key() {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kPublicKey;
  return broker_.bytes(std::move(request));
}

Task<std::string> BrokerClient::seal(SecretInfo about, std::string box) {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kSeal;
  request.secret = secret_of(about, "");
  request.bytes = std::move(box);
  return broker_.bytes(std::move(request));
}

Task<core::Granted> BrokerClient::grant(core::ProxyGrant grant) {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kGrant;
  request.turn = next_turn();
  request.grant = grant_of(grant);
  auto written = notices_.write(routes_of(request.grant));
  return grant_by(std::move(request), std::move(written));
}

Task<void> BrokerClient::revoke(SandboxId sandbox) {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kRevoke;
  request.turn = next_turn();
  request.names.push_back(sandbox.get());
  wire::BrokerRoutes none;
  none.sandbox_id = sandbox.get();
  auto written = notices_.write(none);
  return take_back(std::move(request), std::move(written));
}

Task<void> BrokerClient::withdraw(TenantId tenant, std::string name, std::uint64_t least) {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kWithdraw;
  request.secret.tenant = tenant.get();
  request.secret.name = std::move(name);
  request.secret.version = least;
  return broker_.done(std::move(request));
}

Task<void> BrokerClient::keep_only(std::vector<core::ProxyGrant> all) {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kKeepOnly;
  request.turn = next_turn();
  for (const core::ProxyGrant& one : all) request.names.push_back(one.sandbox.get());
  std::vector<wire::BrokerRoutes> routes;
  for (const core::ProxyGrant& one : all) routes.push_back(routes_of(grant_of(one)));
  auto written = notices_.write_all(std::move(routes));
  return send_all(std::move(request), std::move(written));
}

Task<void> BrokerClient::attend(std::function<Task<void>()> send) {
  return broker_.attend(std::move(send));
}

Task<void> BrokerClient::begin_rotation() {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kBeginRotation;
  return broker_.done(std::move(request));
}

Task<std::string> BrokerClient::reseal(StoredSecret secret) {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kReseal;
  request.secret = secret_of(secret.info, std::move(secret.sealed));
  return broker_.bytes(std::move(request));
}

Task<void> BrokerClient::end_rotation() {
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kEndRotation;
  return broker_.done(std::move(request));
}

}  // namespace cay::vault
