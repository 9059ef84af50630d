#include "api/native/known_query.h"

#include <set>

#include "api/native/handlers.h"
#include "base/ascii.h"
#include "codec/json.h"

namespace cay::api::native {
namespace {

using codec::json::object;

struct Guarded {
  std::set<std::string, std::less<>> names;
  http::Handler inner;
};

std::string listed(const Guarded& route) {
  if (route.names.empty()) return "it takes none";
  std::string out = "it takes";
  for (const auto& name : route.names) out += (name == *route.names.begin() ? " " : ", ") + name;
  return out;
}

asio::awaitable<void> guarded(std::shared_ptr<const Guarded> route, ExchangePtr exchange) {
  for (const auto& [name, value] : exchange->head().query.items()) {
    if (route->names.contains(name)) continue;
    const Error error{
        Code::kInvalidArgument, "invalid_query",
        "there is no query parameter '" + name.substr(0, 60) + "' here: " + listed(*route), 0};
    co_await exchange->respond(native_error(error, note_error(error)));
    co_return;
  }
  co_await route->inner(exchange);
}

const object* operation_of(const object& paths, const http::Route& route) {
  const auto* path = paths.if_contains(route.pattern);
  if (path == nullptr) return nullptr;
  const auto* operation = path->get_object().if_contains(lowered(route.method));
  return operation == nullptr ? nullptr : operation->if_object();
}

}  // namespace

void refuse_unknown_queries(http::Router& router) {
  const object document = *codec::parse_object(openapi_json());  // built in, and tested
  const object& paths = document.at("paths").get_object();
  router.each([&paths](http::Route& route) {
    const object* operation = operation_of(paths, route);
    if (operation == nullptr || !operation->at("responses").get_object().contains("400")) return;
    auto known = std::make_shared<Guarded>();
    if (const auto* parameters = operation->if_contains("parameters")) {
      for (const auto& one : parameters->get_array()) {
        if (one.at("in").get_string() == "query") known->names.emplace(one.at("name").get_string());
      }
    }
    known->inner = std::move(route.handler);
    route.handler = [known](ExchangePtr exchange) { return guarded(known, std::move(exchange)); };
  });
}

}  // namespace cay::api::native
