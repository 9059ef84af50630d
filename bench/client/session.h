// Session: the daemon that CAY_URL and CAY_API_KEY name, the loop of this one thread, and the
// settings of the method that the bench's client runs.
//
// One thread sends and receives, so no wake-up between threads is part of a figure.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "cay/async_client.h"
#include "http/client.h"

namespace cay::bench {

namespace asio = boost::asio;
namespace json = boost::json;
using sdk::Awaitable;

// A failure that ends the method.
struct Failed {
  std::string why;
};

struct Session {
  explicit Session(json::object settings_of_method) : settings(std::move(settings_of_method)) {}

  std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  // The setting as JSON text. `otherwise` if there is none.
  std::string body(std::string_view name, std::string otherwise) const;

  // Sends a request of the native API and returns the answer, an object. Throws ApiError.
  Awaitable<json::object> call(std::string method, std::string target, std::string body_text);
  // Runs `body_text` (a command with "wait") in the sandbox. Throws Failed unless it exits with 0.
  Awaitable<json::object> run(std::string sandbox, std::string body_text);
  // HTTP without the SDK, for streams of any size. The caller's headers need no key.
  std::unique_ptr<http::Client> http();

  json::object settings;
  asio::io_context loop{1};
  AsyncClient cay{loop.get_executor()};
};

// The path of a sandbox's route.
std::string sandbox_path(const std::string& sandbox, const std::string& rest = {});

}  // namespace cay::bench
