// Routes about contexts: interpreters that keep their variables.

#include "api/native/context_handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "core/verbs/contexts.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::size_t kMostVariables = 1024;

object to_json(const Context& context) {
  const bool runs = context.command.end.state == CommandState::kRunning;
  return {{"id", context.id},
          {"language", context.language},
          {"state", runs ? "ready" : "gone"},
          {"generation", context.generation},
          {"command", codec::to_json(context.command)}};
}

Result<ContextSpec> context_spec_of(const object& body) {
  codec::Fields fields(body);
  ContextSpec spec;
  fields.read("id", spec.id);
  fields.read("language", spec.language);
  std::string value;
  if (fields.read("user", value)) spec.run.user = value;
  if (fields.read("cwd", value)) spec.run.workdir = value;
  fields.read("env", spec.run.env, kMostVariables);
  fields.read("warm", spec.warm);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return spec;
}

}  // namespace

Task<http::Response> create_context(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  auto spec = context_spec_of(*body);
  if (!spec) co_return std::move(spec).error();
  auto made = co_await cay.contexts().create(exchange->principal(), param(*exchange, "ref"),
                                             *std::move(spec));
  if (!made) co_return std::move(made).error();
  exchange->note_subject("context " + made->id);
  co_return json_answer(201, to_json(*made));
}

Task<http::Response> list_contexts(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.contexts().list(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  array items;
  for (const Context& one : *got) items.emplace_back(to_json(one));
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> get_context(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.contexts().get(exchange->principal(), param(*exchange, "ref"),
                                         param(*exchange, "id"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, to_json(*got));
}

Task<http::Response> delete_context(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.contexts().remove(exchange->principal(), param(*exchange, "ref"),
                                             param(*exchange, "id"));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<http::Response> interrupt_context(core::Cay& cay, ExchangePtr exchange) {
  auto sent = co_await cay.contexts().interrupt(exchange->principal(), param(*exchange, "ref"),
                                                param(*exchange, "id"));
  if (!sent) co_return std::move(sent).error();
  co_return empty_answer(204);
}

Task<http::Response> restart_context(core::Cay& cay, ExchangePtr exchange) {
  auto made = co_await cay.contexts().restart(exchange->principal(), param(*exchange, "ref"),
                                              param(*exchange, "id"));
  if (!made) co_return std::move(made).error();
  co_return json_answer(200, to_json(*made));
}

}  // namespace cay::api::native
