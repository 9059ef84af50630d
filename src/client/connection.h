// Connection: requests of the native API to one daemon, answers parsed and errors typed. On one
// loop.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "async/task.h"
#include "cay/types.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::client {

namespace json = boost::json;

class Connection {
 public:
  // `http` null: made from the options at the first request (a bad URL is then that request's
  // error).
  Connection(asio::any_io_executor executor, sdk::ClientOptions options,
             std::unique_ptr<http::Client> http = nullptr);

  // Sends `body` (nothing if empty) and reads the answer whole. Any error answer is an Error.
  Task<std::string> call(std::string method, std::string target, std::string body = {});
  // The same, for an answer that must be a JSON object (or nothing: an empty object).
  Task<json::object> call_json(std::string method, std::string target, std::string body = {});
  // The answer's body as a stream.
  Task<std::unique_ptr<ByteSource>> download(std::string target);
  // A streamed request body.
  Task<json::object> upload(std::string method, std::string target, std::string content_type,
                            std::unique_ptr<ByteSource> source);
  Task<std::unique_ptr<http::WebSocket>> websocket(std::string target);
  // Opens bytes without frames. Null: the daemon gives no such tunnel here, and the caller opens a
  // WebSocket.
  Task<std::unique_ptr<http::RawStream>> tunnel(std::string target);

  const sdk::ClientOptions& options() const { return options_; }
  asio::any_io_executor executor() const { return executor_; }

 private:
  Result<http::Client*> http();
  // Called without a key: fails with "no daemon" if none runs, before it requires a key.
  Task<void> require_key();
  Error explain(Error error) const;

  asio::any_io_executor executor_;
  sdk::ClientOptions options_;
  std::unique_ptr<http::Client> http_;
};

// "/api/v1/sandboxes/REF" with REF percent-encoded, and `rest` put behind as it is.
std::string sandbox_target(const std::string& ref, std::string_view rest = {});
// "?path=...&user=..." ; `user` empty: left out.
std::string path_query(const std::string& path, const std::string& user);

}  // namespace cay::client
