#include "api/daytona/secrets.h"

#include <algorithm>
#include <optional>

#include "api/common/audit_subjects.h"
#include "api/common/cursor.h"
#include "api/common/request_body.h"
#include "api/daytona/list_query.h"
#include "api/daytona/lookup.h"
#include "base/wiped_memory.h"
#include "codec/fields.h"
#include "codec/time.h"
#include "codec/wiped_json.h"
#include "core/verbs/secrets.h"
#include "model/sealed_box.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostOfSecret = 128 * 1024;

// Each sandbox has a stand-in of its own, which only its environment shows.
json::object secret_json(const SecretInfo& info) {
  json::array hosts;
  for (const std::string& host : info.hosts) hosts.emplace_back(codec::text(host));
  return {{"id", codec::text(info.name)},
          {"name", codec::text(info.name)},
          {"placeholder", codec::text("made for each sandbox: see its environment")},
          {"hosts", std::move(hosts)},
          {"createdAt", codec::rfc3339(info.created_at)},
          {"updatedAt", codec::rfc3339(info.updated_at)}};
}

Task<SecretInfo> secret_of(core::Cay& cay, ExchangePtr exchange) {
  const std::string ref = ref_of(exchange);
  CAY_CO_TRY(auto all, co_await cay.secrets().list(exchange->principal()));
  for (SecretInfo& one : all) {
    if (one.name == ref) co_return std::move(one);
  }
  co_return Error{Code::kNotFound, "secret_not_found", "Secret with ID " + ref + " not found", 0};
}

struct AskedSecret {
  std::string name{};
  Wiped value{};
  bool has_value = false;
  std::optional<std::vector<std::string>> hosts{};
};

// Reads it. The text of the request is overwritten.
Task<AskedSecret> asked_in(ExchangePtr exchange) {
  CAY_CO_TRY(std::string text, co_await read_request_body(exchange, kMostOfSecret));
  const Wiped body(std::move(text));
  const auto in = codec::parse_wiped_object(body.view());
  if (!in) co_return in.error();
  codec::Fields fields(*in);
  AskedSecret out;
  fields.read("name", out.name);
  out.has_value = fields.read("value", out.value.bytes(), kMostSecretBytes);
  std::vector<std::string> hosts;
  if (fields.read("hosts", hosts, kMostSecretHosts)) out.hosts = std::move(hosts);
  CAY_CO_CHECK(fields.first_error());
  co_return std::move(out);
}

// Closes the value for the vault, and keeps it.
Task<SecretInfo> keep(core::Cay& cay, ExchangePtr exchange, std::string name, AskedSecret asked) {
  CAY_CO_CHECK(check_secret_value(asked.value.view()));
  CAY_CO_TRY(const std::string key, co_await cay.secrets().public_key(exchange->principal()));
  CAY_CO_TRY(std::string box, close_box(key, name, asked.value.view()));
  asked.value.wipe();
  if (asked.hosts) exchange->note_subject("secret " + name + "; " + hosts_subject(*asked.hosts));
  auto work = cay.secrets().set(exchange->principal(), std::move(name), std::move(asked.hosts),
                                std::move(box));
  auto kept = co_await std::move(work);
  co_return kept;
}

}  // namespace

Task<http::Response> list_secrets(core::Cay& cay, ExchangePtr exchange) {
  const http::Query& query = exchange->head().query;
  CAY_CO_TRY(const Page page, read_page(query));
  const std::string name(query.get("name").value_or(""));
  std::size_t offset = 0;
  if (const auto cursor = query.get("cursor"); cursor && !cursor->empty()) {
    const auto at = offset_of_cursor(*cursor, name);
    if (!at) co_return invalid("invalid_query", "Invalid cursor: it is of another query");
    offset = *at;
  }
  CAY_CO_TRY(auto all, co_await cay.secrets().list(exchange->principal()));
  std::erase_if(all, [&](const SecretInfo& one) {
    return !name.empty() && one.name.find(name) == std::string::npos;
  });
  std::sort(all.begin(), all.end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
  json::array items;
  const std::size_t end = std::min(all.size(), offset + page.limit);
  for (std::size_t i = offset; i < end; ++i) items.emplace_back(secret_json(all[i]));
  json::object out{{"items", std::move(items)}, {"total", all.size()}, {"nextCursor", nullptr}};
  if (end < all.size()) out["nextCursor"] = cursor_at(static_cast<std::uint32_t>(end), name);
  co_return json_answer(200, out);
}

Task<http::Response> create_secret(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(AskedSecret asked, co_await asked_in(exchange));
  const std::string name = asked.name;
  if (!is_secret_name(name))
    co_return invalid("invalid_secret",
                      "a secret's name has 1 to 63 letters, digits, '.', '_' or '-'");
  if (!asked.has_value) co_return invalid("invalid_secret", "value is needed");
  CAY_CO_TRY(const auto all, co_await cay.secrets().list(exchange->principal()));
  const bool taken = std::any_of(all.begin(), all.end(),
                                 [&name](const SecretInfo& one) { return one.name == name; });
  if (taken) {
    co_return Error{Code::kAlreadyExists, "secret_exists",
                    "Secret with name " + name + " already exists", 0};
  }
  CAY_CO_TRY(const SecretInfo kept, co_await keep(cay, exchange, name, std::move(asked)));
  co_return json_answer(201, secret_json(kept));
}

Task<http::Response> get_secret(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const SecretInfo found, co_await secret_of(cay, exchange));
  co_return json_answer(200, secret_json(found));
}

Task<http::Response> patch_secret(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(AskedSecret asked, co_await asked_in(exchange));
  CAY_CO_TRY(const SecretInfo found, co_await secret_of(cay, exchange));
  if (!asked.name.empty() && asked.name != found.name)
    co_return invalid("invalid_secret", "a secret keeps its name: create another one");
  if (!asked.has_value) {
    if (!asked.hosts) co_return json_answer(200, secret_json(found));
    co_return invalid("invalid_secret",
                      "hosts change together with the value, which nobody can read: give it again");
  }
  CAY_CO_TRY(const SecretInfo kept, co_await keep(cay, exchange, found.name, std::move(asked)));
  co_return json_answer(200, secret_json(kept));
}

Task<http::Response> delete_secret(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const SecretInfo found, co_await secret_of(cay, exchange));
  CAY_CO_CHECK(co_await cay.secrets().remove(exchange->principal(), found.name));
  co_return empty_answer(204);
}

}  // namespace cay::api::daytona
