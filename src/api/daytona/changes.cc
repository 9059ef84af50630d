#include "api/daytona/changes.h"

#include <charconv>
#include <utility>

#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/daytona/create_json.h"
#include "api/daytona/intervals.h"
#include "api/daytona/lookup.h"
#include "api/daytona/notes.h"
#include "api/daytona/sandboxes_json.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostOfChange = 256 * 1024;
constexpr std::size_t kMostOfLabels = 64;
constexpr std::int64_t kSecondMillis = 1000;

Task<http::Response> changed(std::shared_ptr<Control> control, ExchangePtr exchange, std::string id,
                             SandboxPatch patch) {
  exchange->note_subject(changes_subject(patch));
  auto work =
      control->cay.sandboxes().update(exchange->principal(), std::move(id), std::move(patch));
  CAY_CO_TRY(const Sandbox now, co_await std::move(work));
  co_return json_answer(200, sandbox_json(now, base_url(exchange->head())));
}

Result<std::int64_t> minutes_in(const ExchangePtr& exchange, std::int64_t least,
                                std::int64_t most) {
  const std::string& text = exchange->params().at("minutes");
  std::int64_t minutes = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), minutes);
  if (failure != std::errc() || end != text.data() + text.size() || minutes < least ||
      minutes > most) {
    return invalid("invalid_ttl", "the interval is " + std::to_string(least) + " to " +
                                      std::to_string(most) + " minutes");
  }
  return minutes;
}

Task<json::object> change_in(ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMostOfChange));
  auto object = codec::parse_object(body, codec::Empty::kIsObject);
  co_return object;
}

void note(SandboxPatch& patch, const char* key, const std::string& text) {
  patch.notes[key] = text.empty() ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

Task<http::Response> put_labels(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await change_in(exchange));
  codec::Fields fields(in);
  std::map<std::string, std::string> labels;
  if (!fields.read("labels", labels, kMostOfLabels)) fields.complain("labels", "is needed");
  CAY_CO_CHECK(fields.first_error());
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  // One whose thread changes is no more that of its old thread.
  if (!sandbox.claim.empty() && sandbox.claim == claim_of(sandbox.labels) &&
      sandbox.claim != claim_of(labels))
    patch.claim = "";
  patch.labels = std::move(labels);
  exchange->note_subject(changes_subject(patch));
  auto work =
      control->cay.sandboxes().update(exchange->principal(), sandbox.id.get(), std::move(patch));
  CAY_CO_TRY(const Sandbox now, co_await std::move(work));
  co_return json_answer(200, json::object{{"labels", sandbox_json(now, "").at("labels")}});
}

Task<http::Response> set_auto_stop(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::int64_t minutes, minutes_in(exchange, 0, kMostMinutes));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  patch.idle_ttl_s = idle_ttl_of(minutes);
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> set_auto_pause(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::int64_t minutes, minutes_in(exchange, 0, kMostMinutes));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  if (minutes != 0) {
    co_return Error{Code::kUnsupported, "not_here",
                    "Cay pauses by request alone: use the auto-stop interval, or pause()", 0};
  }
  co_return json_answer(200, sandbox_json(sandbox, base_url(exchange->head())));
}

Task<http::Response> set_auto_archive(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::int64_t minutes, minutes_in(exchange, 0, kLongestAutoArchive));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  patch.notes[kAutoArchiveNote] = std::to_string(minutes);
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> set_auto_delete(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::int64_t minutes, minutes_in(exchange, -1, kMostMinutes));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  patch.delete_after_stop_s = delete_after_stop_of(minutes);
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> set_ttl(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::int64_t minutes, minutes_in(exchange, 0, kMostMinutes));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  patch.lifetime_s = 0;
  if (minutes != 0) {
    // Core counts from the creation.
    const std::int64_t age =
        std::max<std::int64_t>((system_clock().wall() - sandbox.created_at) / kSecondMillis, 0);
    patch.lifetime_s = age + minutes * 60;
  }
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> set_public(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const std::string& word = exchange->params().at("public");
  if (word != "true" && word != "false")
    co_return invalid("invalid_query", "a sandbox is public by the word true or false");
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  note(patch, kPublicNote, word == "true" ? "1" : "");
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> set_network(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await change_in(exchange));
  codec::Fields fields(in);
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  // Lists stay if the request has none. A list ends a block.
  NetworkSettings settings;
  settings.networks = note_of(sandbox, kNetworksNote);
  settings.domains = note_of(sandbox, kDomainsNote);
  const bool networks = fields.read("networkAllowList", settings.networks);
  const bool domains = fields.read("domainAllowList", settings.domains);
  const bool blocks = fields.read("networkBlockAll", settings.block_all);
  if (!blocks && !networks && !domains) settings.block_all = sandbox.policy == kNoNetwork;
  CAY_CO_CHECK(fields.first_error());
  SandboxPatch patch;
  CAY_CO_TRY(patch.policy, policy_of(settings, control->config.policy));
  note(patch, kNetworksNote, settings.networks);
  note(patch, kDomainsNote, settings.domains);
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> put_secrets(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await change_in(exchange));
  codec::Fields fields(in);
  std::vector<ProxyRule> rules;
  if (!fields.has("secrets")) fields.complain("secrets", "is needed");
  read_secrets(fields, "secrets", rules);
  CAY_CO_CHECK(fields.first_error());
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  patch.proxy = std::move(rules);
  auto work = changed(control, exchange, sandbox.id.get(), std::move(patch));
  auto out = co_await std::move(work);
  co_return out;
}

Task<http::Response> note_activity(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  // A start of one that runs changes nothing but that.
  if (sandbox.state == SandboxState::kReady) {
    CAY_CO_CHECK(co_await control->cay.sandboxes().start(exchange->principal(), sandbox.id.get()));
  }
  co_return empty_answer(201);
}

}  // namespace cay::api::daytona
