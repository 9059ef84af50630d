// Draining the host. The core decides who may, and what it means.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/fields.h"
#include "core/verbs/drain.h"

namespace cay::api::native {
namespace {

using codec::json::object;

http::Response shown(const core::DrainStatus& status) {
  return json_answer(200, object{{"draining", status.draining},
                                 {"running_sandboxes", status.running_sandboxes},
                                 {"running_commands", status.running_commands},
                                 {"silent_sandboxes", status.silent_sandboxes}});
}

}  // namespace

Task<http::Response> get_drain(core::Cay& cay, ExchangePtr exchange) {
  auto status = co_await cay.drain().status(exchange->principal());
  if (!status) co_return std::move(status).error();
  co_return shown(*status);
}

Task<http::Response> set_drain(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  bool draining = true;
  bool stop = false;
  fields.read("draining", draining);
  fields.read("stop_sandboxes", stop);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject(std::string(draining ? "drain" : "no drain") +
                         (stop ? "; all sandboxes are stopped" : ""));
  auto status = co_await cay.drain().set(exchange->principal(), draining);
  if (!status) co_return std::move(status).error();
  if (stop) {
    status = co_await cay.drain().stop_all(exchange->principal());
    if (!status) co_return std::move(status).error();
  }
  co_return shown(*status);
}

}  // namespace cay::api::native
