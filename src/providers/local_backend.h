// LocalBackend: a directory of this host. See local_provider.h: nothing is isolated.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/scope.h"
#include "providers/backend.h"
#include "providers/child_process.h"

namespace cay::providers {

class LocalBackend final : public Backend {
 public:
  LocalBackend(asio::any_io_executor executor, std::string directory);
  ~LocalBackend() override;

  const std::string& id() const override { return directory_; }
  const std::string& provider() const override;
  Features features() const override;
  const std::string& workdir() const override { return directory_; }

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
  struct Job;
  Result<std::unique_ptr<ChildProcess>> started(const std::string& command,
                                                const ExecuteOptions& options, bool stdin_at_end);
  Result<std::shared_ptr<Job>> job(const std::string& id) const;
  Result<void> check_directory() const;

  asio::any_io_executor executor_;
  std::string directory_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::uint64_t next_ = 1;
  Scope scope_;
};

}  // namespace cay::providers
