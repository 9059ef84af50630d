#include "api/native/known_query.h"

#include <map>
#include <set>

#include "api/native/handlers.h"
#include "base/ascii.h"
#include "codec/json.h"

namespace cay::api::native {
namespace {

using codec::json::object;

using Names = std::set<std::string, std::less<>>;

struct Guarded {
  const Names& names;
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

// "METHOD pattern" -> the names of its query parameters, for the operations that document a 400.
std::map<std::string, Names> documented_names() {
  const object document = *codec::parse_object(openapi_json());  // built in, and tested
  std::map<std::string, Names> out;
  for (const auto& path : document.at("paths").get_object()) {
    for (const auto& operation : path.value().get_object()) {
      const object& described = operation.value().get_object();
      if (!described.at("responses").get_object().contains("400")) continue;
      Names& names = out[std::string(operation.key()) + " " + std::string(path.key())];
      const auto* parameters = described.if_contains("parameters");
      if (parameters == nullptr) continue;
      for (const auto& one : parameters->get_array()) {
        if (one.at("in").get_string() == "query") names.emplace(one.at("name").get_string());
      }
    }
  }
  return out;
}

}  // namespace

void refuse_unknown_queries(http::Router& router) {
  static const auto documented = documented_names();
  router.each([](http::Route& route) {
    const auto found = documented.find(lowered(route.method) + " " + route.pattern);
    if (found == documented.end()) return;
    auto known = std::make_shared<Guarded>(Guarded{found->second, std::move(route.handler)});
    route.handler = [known](ExchangePtr exchange) { return guarded(known, std::move(exchange)); };
  });
}

}  // namespace cay::api::native
