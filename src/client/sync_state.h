// The synchronous handles share this: the loop and, on it, the connection.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "client/command_stream.h"
#include "client/connection.h"
#include "client/errors.h"
#include "client/loop.h"
#include "cay/client.h"

namespace cay::sdk {

struct ClientState {
  // `make_http` null: the real one. Tests give a fake.
  using MakeHttp = std::function<std::unique_ptr<http::Client>(asio::any_io_executor)>;
  explicit ClientState(ClientOptions options, const MakeHttp& make_http = nullptr)
      : connection(loop.executor(), std::move(options),
                   make_http ? make_http(loop.executor()) : nullptr) {}

  template <class T>
  T wait(Task<T> task) {
    return client::value_or_raise(loop.wait(std::move(task)));
  }

  // The connection's sockets are given back to the loop, so the loop stops after they are gone.
  client::Loop loop;
  client::Connection connection;
};

// The sandbox of a handle and of its copies.
class SandboxState {
 public:
  SandboxState(std::shared_ptr<ClientState> owner, std::string ref)
      : client(std::move(owner)), ref_(std::move(ref)) {}

  const std::string& ref() const { return ref_; }
  // The id once it is known, else as the handle was made.
  std::string at() const;
  // Keeps the id of the first response that has one.
  void keep_id(const std::string& id);

  const std::shared_ptr<ClientState> client;

 private:
  const std::string ref_;
  mutable std::mutex mutex_;
  std::string id_;
};

struct CommandState {
  // Its socket belongs to the loop's thread: closed there, while the loop still turns.
  ~CommandState();
  std::shared_ptr<ClientState> client;
  std::unique_ptr<client::CommandStream> stream;
};

}  // namespace cay::sdk
