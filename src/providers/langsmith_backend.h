// LangSmithBackend: one sandbox of LangSmith, by its data plane.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "http/client.h"
#include "providers/backend.h"
#include "providers/langsmith_api.h"
#include "providers/langsmith_command.h"

namespace cay::providers {

class LangSmithBackend final : public Backend {
 public:
  // `box` is the sandbox as the control plane shows it.
  static Task<std::unique_ptr<Backend>> open(std::shared_ptr<LangSmithApi> api,
                                             codec::json::object box);

  const std::string& id() const override { return id_; }
  const std::string& provider() const override;
  Features features() const override;
  const std::string& workdir() const override { return workdir_; }

  Task<Executed> execute(std::string command, ExecuteOptions options) override;
  Task<std::vector<FileResult>> upload(
      std::vector<std::pair<std::string, std::string>> files) override;
  Task<std::vector<FileResult>> download(std::vector<std::string> paths) override;

  Task<std::string> start(std::string command, ExecuteOptions options) override;
  Task<Running> poll(std::string id, std::uint64_t from, double wait_s) override;
  Task<void> write_input(std::string id, std::string bytes, bool close) override;
  Task<void> kill(std::string id) override;
  Task<Executed> stop(std::string id, std::size_t keep) override;

 private:
  LangSmithBackend(std::shared_ptr<LangSmithApi> api, std::unique_ptr<http::Client> client,
                   std::string id);
  // Returns kLost (sandbox_lost) for an error that means it, and else the error.
  asio::awaitable<Error> judged(Error error);
  Task<FileResult> upload_one(std::string path, std::string bytes);
  Task<FileResult> download_one(std::string path);

  std::shared_ptr<LangSmithApi> api_;
  std::unique_ptr<http::Client> client_;
  std::string id_, workdir_;
};

}  // namespace cay::providers
