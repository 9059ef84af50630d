// Contexts from coroutines: interpreters in a sandbox that keep their variables between calls.
//
//   const cay::sdk::AsyncContexts contexts(cay, "box");     // cay: an AsyncClient
//   const auto made = co_await contexts.create();
//   const auto got = co_await contexts.run(made.id, "1 + 1");
//   std::cout << got.value();                               // 2
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cay/async_client.h"
#include "cay/contexts.h"

namespace cay::sdk {

// `id`: a context's. Everything throws cay::ApiError.
class AsyncContexts {
 public:
  Awaitable<ContextInfo> create(ContextOptions options = {}) const;
  Awaitable<std::vector<ContextInfo>> list() const;
  Awaitable<ContextInfo> get(std::string id) const;
  Awaitable<void> remove(std::string id) const;
  // Evaluates and waits for the end. ApiError kNotReady "context_gone".
  Awaitable<Evaluation> run(std::string id, std::string code, CallOptions options = {}) const;
  // The same, and calls `on_event` with each event as it comes. The Evaluation has none.
  using OnEvent = Contexts::OnEvent;
  Awaitable<Evaluation> run(std::string id, std::string code, OnEvent on_event,
                            CallOptions options = {}) const;
  // Reads an evaluation to its end likewise. `from` empty: from its beginning.
  Awaitable<Evaluation> follow(std::string id, std::string run, OnEvent on_event,
                               std::string from = {}) const;
  // Begins, and does not wait: read() has the rest. `run` empty: a random id.
  Awaitable<Evaluation> begin(std::string id, std::string code, std::string run = {},
                              CallOptions options = {}) const;
  // Returns what is known of an evaluation, after at most `wait_s`. `from` empty: all of it.
  Awaitable<Evaluation> read(std::string id, std::string run, std::uint32_t wait_s = 0,
                             std::string from = {}) const;
  Awaitable<void> interrupt(std::string id) const;
  Awaitable<ContextInfo> restart(std::string id) const;

  // The contexts of one sandbox.
  AsyncContexts(AsyncClient client, std::string id_or_name)
      : client_(std::move(client)), ref_(std::move(id_or_name)) {}

 private:
  AsyncClient client_;
  std::string ref_;
};

}  // namespace cay::sdk
