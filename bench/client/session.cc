#include "session.h"

#include "cay/types.h"
#include "codec/json.h"

namespace cay::bench {

std::uint64_t Session::number(std::string_view name, std::uint64_t otherwise) const {
  const auto* found = settings.if_contains(name);
  return found == nullptr ? otherwise : found->to_number<std::uint64_t>();
}

std::string Session::text(std::string_view name, std::string otherwise) const {
  const auto* found = settings.if_contains(name);
  return found == nullptr ? std::move(otherwise) : std::string(found->as_string());
}

std::string Session::body(std::string_view name, std::string otherwise) const {
  const auto* found = settings.if_contains(name);
  return found == nullptr ? std::move(otherwise) : codec::write(*found);
}

Awaitable<json::object> Session::call(std::string method, std::string target,
                                      std::string body_text) {
  const auto answer =
      co_await cay.request(std::move(method), std::move(target), std::move(body_text));
  auto parsed = codec::parse_object(answer, codec::Empty::kIsObject);
  if (!parsed) throw Failed{"the daemon answered with no object: " + answer};
  co_return *std::move(parsed);
}

Awaitable<json::object> Session::run(std::string sandbox, std::string body_text) {
  auto answer = co_await call("POST", sandbox_path(sandbox, "/commands"), std::move(body_text));
  const auto* code = answer.if_contains("exit_code");
  if (code == nullptr || !code->is_number() || code->to_number<int>() != 0)
    throw Failed{"the command failed: " + codec::write(answer)};
  co_return answer;
}

std::unique_ptr<http::Client> Session::http() {
  const auto from = sdk::ClientOptions::from_environment();
  http::ClientOptions options;
  options.url = from.url;
  options.headers.add("X-Api-Key", from.api_key);
  auto made = http::Client::create(loop.get_executor(), std::move(options));
  if (!made) throw Failed{made.error().message};
  return *std::move(made);
}

std::string sandbox_path(const std::string& sandbox, const std::string& rest) {
  return "/api/v1/sandboxes/" + sandbox + rest;
}

}  // namespace cay::bench
