// DaytonaBackend: one sandbox of Daytona, by its toolbox.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http/client.h"
#include "providers/backend.h"
#include "providers/daytona_api.h"
#include "providers/daytona_command.h"

namespace cay::providers {

class DaytonaBackend final : public Backend {
 public:
  // `box` is the sandbox as the control plane shows it.
  static Task<std::unique_ptr<Backend>> open(std::shared_ptr<DaytonaApi> api,
                                             codec::json::object box);
  // `toolbox` is a client of the sandbox's toolbox.
  DaytonaBackend(std::shared_ptr<DaytonaApi> api, std::unique_ptr<http::Client> toolbox,
                 std::string id, std::string workdir);

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
  // Fails kUnsupported (verb_unsupported) for `close`: a session's input has no end.
  Task<void> write_input(std::string id, std::string bytes, bool close) override;
  Task<void> kill(std::string id) override;
  Task<Executed> stop(std::string id, std::size_t keep) override;

 private:
  // Returns kLost (sandbox_lost) or kNotReady (sandbox_not_ready) for an error that means it, and
  // else the error.
  asio::awaitable<Error> judged(Error error);
  Task<Executed> followed(DaytonaCommand& run, const ExecuteOptions& options);
  Task<Running> polled(std::string id, std::uint64_t from, double wait_s);
  Task<void> forget_oldest(std::string session);

  std::shared_ptr<DaytonaApi> api_;
  std::unique_ptr<http::Client> toolbox_;
  std::string id_, workdir_;
  std::deque<std::string> ended_;          // sessions whose command has ended, oldest first
  std::map<std::string, Running> killed_;  // as they were when they were killed
};

}  // namespace cay::providers
