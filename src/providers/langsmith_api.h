// LangSmithApi: the requests of LangSmith's control plane, with typed errors.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "http/client.h"
#include "providers/langsmith_provider.h"

namespace cay::providers {

// The error envelope: {"detail": {"error", "message"}}, or a text.
struct LangSmithFault {
  std::string type, message;
};
LangSmithFault langsmith_fault(std::string_view body);

// Returns the Error of an answer that is no success. A 404 is kNotFound (sandbox_not_found).
Error langsmith_error(int status, std::string_view body);

// A client of `url` that sends the key.
Result<std::unique_ptr<http::Client>> langsmith_client(const asio::any_io_executor& executor,
                                                       const LangSmithSettings& settings,
                                                       std::string url);

class LangSmithApi {
 public:
  static Result<std::shared_ptr<LangSmithApi>> create(asio::any_io_executor executor,
                                                      LangSmithSettings settings);

  // `target` stands behind "/v2/sandboxes". An answer of 502, 503 or 504 is requested again, three
  // times.
  Task<codec::json::object> call(std::string method, std::string target, std::string body = {});
  // Waits until it is ready, and starts it if it is stopped. Fails kNotReady (snapshot_failed,
  // boot_failed …) and kDeadlineExceeded (boot_timeout).
  Task<codec::json::object> ready(std::string ref);

  const LangSmithSettings& settings() const { return settings_; }
  const asio::any_io_executor& executor() const { return executor_; }

 private:
  LangSmithApi(asio::any_io_executor executor, LangSmithSettings settings,
               std::unique_ptr<http::Client> client);

  asio::any_io_executor executor_;
  LangSmithSettings settings_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace cay::providers
