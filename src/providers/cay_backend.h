// CayBackend: one sandbox of a Cay daemon.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cay/async_client.h"
#include "providers/backend.h"
#include "providers/cay_calls.h"

namespace cay::providers {

// The calls of the SDK to one sandbox, and its files.
class CayFiles : public Backend {
 public:
  Task<std::vector<FileResult>> upload(
      std::vector<std::pair<std::string, std::string>> files) override;
  Task<std::vector<FileResult>> download(std::vector<std::string> paths) override;
  Task<Found<FileEntry>> list(std::string path) override;
  Task<FileEntry> stat(std::string path) override;
  Task<FilePage> read(std::string path, std::uint64_t offset, std::uint64_t limit) override;
  Task<void> remove(std::string path) override;

 protected:
  CayFiles(const sdk::AsyncClient& client, const sdk::SandboxInfo& info);
  // Returns kLost (sandbox_lost) for an error that means it, and else the error.
  asio::awaitable<Error> judged(Error error);
  template <class T>
  Task<T> called(sdk::Awaitable<T> work) {
    auto got = co_await caught(std::move(work));
    if (got) co_return got;
    auto error = co_await judged(std::move(got).error());
    co_return error;
  }

  sdk::AsyncClient client_;
  sdk::AsyncSandbox box_;
  std::string id_;

 private:
  Task<std::string> content_of(std::string path);

  std::string user_;
};

class CayBackend final : public CayFiles {
 public:
  CayBackend(const sdk::AsyncClient& client, const sdk::SandboxInfo& info);
  // Finds out the directory that commands begin in.
  Task<void> begin();

  const std::string& id() const override { return id_; }
  const std::string& provider() const override;
  Features features() const override;
  const std::string& workdir() const override { return workdir_; }
  const PathRules& path_rules() const override { return paths_; }

  Task<Executed> execute(std::string command, ExecuteOptions options) override;
  Task<std::string> start(std::string command, ExecuteOptions options) override;
  Task<Running> poll(std::string id, std::uint64_t from, double wait_s) override;
  Task<void> write_input(std::string id, std::string bytes, bool close) override;
  Task<void> kill(std::string id) override;
  Task<Executed> stop(std::string id, std::size_t keep) override;
  Task<std::string> checkpoint(std::string name) override;
  Task<void> restore(std::string name) override;
  Task<CodeRun> run_code(CodeRequest request) override;

 private:
  // Reads to the command's end.
  Task<Executed> end_of(sdk::AsyncCommand command, std::size_t keep,
                        std::function<void(std::string_view)> on_output);

  std::string workdir_;
  PathRules paths_;
};

}  // namespace cay::providers
