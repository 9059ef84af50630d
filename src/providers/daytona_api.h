// DaytonaApi: the requests of Daytona's control plane, with typed errors.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "http/client.h"
#include "providers/daytona_provider.h"

namespace cay::providers {

// The error envelope of both planes: {"message", "code", …}, or a text.
struct DaytonaFault {
  std::string code, message;
};
DaytonaFault daytona_fault(std::string_view body);

// Returns the Error of an answer that is no success. A 404 is kNotFound: unknown_command if it is
// about a process, else sandbox_not_found.
Error daytona_error(int status, std::string_view body);

// A client of `url` that sends the key, and a version whose logs come as JSON.
Result<std::unique_ptr<http::Client>> daytona_client(const asio::any_io_executor& executor,
                                                     const DaytonaSettings& settings,
                                                     std::string url);

// Sends `body` as JSON. After a 429 it sends the request again when the server's Retry-After is
// over. It also sends a GET or DELETE again after 502, 503 and 504. Every status is a value.
Task<http::Response> daytona_request(http::Client& client, std::string method, std::string target,
                                     std::string body);
// The same; any status that is no success is its Error.
Task<codec::json::object> daytona_call(http::Client& client, std::string method, std::string target,
                                       std::string body = {});

class DaytonaApi {
 public:
  static Result<std::shared_ptr<DaytonaApi>> create(asio::any_io_executor executor,
                                                    DaytonaSettings settings);
  // `client` is that of settings.api_url.
  DaytonaApi(asio::any_io_executor executor, DaytonaSettings settings,
             std::unique_ptr<http::Client> client);

  Task<codec::json::object> call(std::string method, std::string target, std::string body = {});
  // Waits until the sandbox runs, and starts it if it is stopped, paused or archived. Fails
  // kNotFound (sandbox_not_found), also for one that is being removed, kNotReady
  // (sandbox_not_ready) and kDeadlineExceeded (boot_timeout).
  Task<codec::json::object> ready(std::string id_or_name);

  const DaytonaSettings& settings() const { return settings_; }
  const asio::any_io_executor& executor() const { return executor_; }

 private:
  asio::any_io_executor executor_;
  DaytonaSettings settings_;
  std::unique_ptr<http::Client> client_;
};

// "/sandbox/ID" and `rest`.
std::string daytona_target(const std::string& id_or_name, std::string_view rest = {});

}  // namespace cay::providers
