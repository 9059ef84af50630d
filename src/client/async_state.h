// The coroutine handles share this: the connection on the caller's executor.
#pragma once
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "cay/async_client.h"
#include "client/connection.h"
#include "client/errors.h"

namespace cay::sdk {

struct AsyncState {
  // `http` null: the real one. Tests give a fake.
  AsyncState(asio::any_io_executor executor, const ClientOptions& options,
             std::unique_ptr<http::Client> http = nullptr)
      : connection(std::move(executor), options, std::move(http)) {}
  client::Connection connection;
};

// The sandbox of a handle and of its copies.
struct AsyncPlace {
  std::shared_ptr<AsyncState> client;
  std::string ref;
};

// `keep` holds what `task` refers to.
template <class Keep, class T>
Awaitable<T> unwrap([[maybe_unused]] std::shared_ptr<Keep> keep, Task<T> task) {
  auto got = co_await std::move(task);
  if (!got) client::raise(std::move(got).error());
  if constexpr (!std::is_void_v<T>) co_return *std::move(got);
}

// Calls a verb of client/api.h with the connection and the sandbox.
template <class Verb, class... Args>
auto at_place(const std::shared_ptr<const AsyncPlace>& place, Verb verb, Args... args) {
  return unwrap(place, verb(place->client->connection, place->ref, std::move(args)...));
}

}  // namespace cay::sdk
