// HttpModel: a model behind HTTP. It sends requests, reads answers as they come, and tries again
// after failures that pass.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/llm/endpoint.h"
#include "agent/llm/model.h"
#include "agent/llm/wire_format.h"
#include "http/client.h"

namespace cay::agent {

// The world outside: replaced by tests.
struct ModelHooks {
  std::function<asio::awaitable<void>(Millis)> sleep;
  std::function<double()> random;  // from 0 to 1
  std::function<UnixMillis()> now;
};
ModelHooks real_hooks();

class HttpModel final : public Model {
 public:
  HttpModel(std::unique_ptr<http::Client> client, Endpoint endpoint, ModelSettings settings,
            std::unique_ptr<WireFormat> format, ModelHooks hooks);

  // Fails kInvalidArgument (bad_url, bad_ca_file).
  static Result<std::unique_ptr<Model>> create(asio::any_io_executor executor, Endpoint endpoint,
                                               ModelSettings settings,
                                               ModelHooks hooks = real_hooks());

  Task<ModelReply> complete(ModelRequest request, OnDelta on_delta) override;
  const ModelProfile& profile() const override { return settings_.profile; }
  const std::string& name() const override { return name_; }

 private:
  // Reports the pieces of a try. `any`: it reported some. `too_large`: its answer was.
  struct Pieces {
    OnDelta to;
    bool any = false;
    bool too_large = false;
  };
  // One request and its end.
  struct Try {
    Result<ModelReply> reply;
    bool may_repeat = false;
    bool at_once = false;  // the next request is another one
    std::optional<Millis> wanted{};
  };
  // Outlives a try that the time limit cuts off.
  struct Progress {
    std::chrono::steady_clock::time_point deadline;
    std::uint32_t tries = 0;
    std::optional<Error> last{};
  };

  Task<ModelReply> repeat(const ModelRequest& request, Pieces& pieces, Progress& progress);
  asio::awaitable<Try> attempt(const ModelRequest& request, Pieces& pieces);
  // `used`: those of the request. Another one may have changed options_ meanwhile.
  asio::awaitable<Try> refused(http::ClientResponse answer, RequestOptions used);
  Task<ModelReply> read(http::ClientResponse answer, Pieces& pieces,
                        std::chrono::steady_clock::time_point first_byte);
  Task<void> find_model();
  http::ClientRequest request_to(std::string target) const;
  // Names the model and its server, adds a remedy, and hides the key.
  Error explained(Error error, std::uint32_t tries) const;

  std::unique_ptr<http::Client> client_;
  Endpoint endpoint_;
  ModelSettings settings_;
  std::unique_ptr<WireFormat> format_;
  ModelHooks hooks_;
  RequestOptions options_;
  std::string name_;
};

}  // namespace cay::agent
