// Routes about secrets: given, listed by name, removed; no route gives a value back.
#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/common/subjects.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "base/wiped_memory.h"
#include "codec/base64.h"
#include "codec/proxy_json.h"
#include "codec/wiped_json.h"
#include "core/verbs/secrets.h"
#include "model/sealed_box.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::size_t kSecretBodyLimit = 128 * 1024;
constexpr std::size_t kMostBox = 2 * kMostSecretBytes;

struct Given {
  std::optional<std::vector<std::string>> hosts;
  std::string box;  // closed; empty: `value` is to be closed here
  Wiped value;
};

Result<Given> given_in(const object& body) {
  codec::Fields fields(body);
  Given out;
  std::vector<std::string> hosts;
  if (fields.read("hosts", hosts, kMostSecretHosts)) out.hosts = std::move(hosts);
  std::string sealed;
  const bool closed = fields.read("sealed", sealed, 2 * kMostBox);
  const bool plain = fields.read("value", out.value.bytes(), kMostSecretBytes);
  if (fields.ok() && closed == plain)
    fields.complain("", "give either sealed, the value closed for the public key, or value");
  if (closed) {
    const auto box = codec::from_base64(sealed);
    if (box) {
      out.box = *box;
    } else {
      fields.complain("sealed", "must be base64");
    }
  }
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

// Reads a secret. A value in clear is overwritten once it was closed or the request was refused, in
// the text and in its parsed form.
Task<Given> given(ExchangePtr exchange) {
  auto text = co_await read_request_body(exchange, kSecretBodyLimit);
  if (!text) co_return std::move(text).error();
  const Wiped body(*std::move(text));
  const auto parsed = codec::parse_wiped_object(body.view());
  if (!parsed) co_return parsed.error();
  auto out = given_in(*parsed);
  co_return out;
}

}  // namespace

Task<http::Response> secret_key(core::Cay& cay, ExchangePtr exchange) {
  auto key = co_await cay.secrets().public_key(exchange->principal());
  if (!key) co_return std::move(key).error();
  co_return json_answer(200, object{{"algorithm", "x25519-hkdf-sha256-aes256gcm"},
                                    {"public_key", codec::base64(*key)}});
}

Task<http::Response> put_secret(core::Cay& cay, ExchangePtr exchange) {
  const std::string name = param(*exchange, "name");
  auto asked = co_await given(exchange);
  if (!asked) co_return std::move(asked).error();
  if (asked->box.empty()) {
    if (auto fine = check_secret_value(asked->value.view()); !fine)
      co_return std::move(fine).error();
    auto key = co_await cay.secrets().public_key(exchange->principal());
    if (!key) co_return std::move(key).error();
    auto box = close_box(*key, name, asked->value.view());
    if (!box) co_return std::move(box).error();
    asked->box = *std::move(box);
    asked->value.wipe();
  }
  if (asked->hosts) exchange->note_subject(hosts_subject(*asked->hosts));
  auto set = co_await cay.secrets().set(exchange->principal(), name, std::move(asked->hosts),
                                        std::move(asked->box));
  if (!set) co_return std::move(set).error();
  exchange->note_subject("version " + std::to_string(set->version) + "; " +
                         hosts_subject(set->hosts));
  co_return json_answer(200, codec::to_json(*set));
}

Task<http::Response> list_secrets(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.secrets().list(exchange->principal());
  if (!got) co_return std::move(got).error();
  array items;
  for (const SecretInfo& one : *got) items.emplace_back(codec::to_json(one));
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> delete_secret(core::Cay& cay, ExchangePtr exchange) {
  auto done = co_await cay.secrets().remove(exchange->principal(), param(*exchange, "name"));
  if (!done) co_return std::move(done).error();
  if (done->empty()) co_return empty_answer(204);
  array users;
  Subjects subjects("used by");
  for (const SecretUser& one : *done) {
    subjects.add(one.name);
    array rules;
    for (const std::string& rule : one.rules) rules.emplace_back(codec::text(rule));
    users.push_back(object{{"sandbox_id", one.sandbox.get()},
                           {"sandbox", codec::text(one.name)},
                           {"rules", std::move(rules)}});
  }
  exchange->note_subject(subjects.text());
  co_return json_answer(200, object{{"users", std::move(users)}});
}

Task<http::Response> rotate_vault(core::Cay& cay, ExchangePtr exchange) {
  auto count = co_await cay.secrets().rotate_key(exchange->principal());
  if (!count) co_return std::move(count).error();
  co_return json_answer(200, object{{"secrets", *count}});
}

}  // namespace cay::api::native
