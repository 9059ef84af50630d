// FakeBackend: a sandbox in memory, for tests. Files are a map. Commands are scripted.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "providers/backend.h"
#include "providers/text_page.h"

namespace cay::providers::testing {

class FakeBackend : public Backend {
 public:
  std::map<std::string, std::string> files;
  std::vector<std::string> commands;    // as they came
  std::vector<ExecuteOptions> options;  // of each
  std::function<Result<Executed>(const std::string& command)> answer;
  std::optional<Error> failure;  // of every call
  Features has{.streams = true, .attach = true, .background = true, .code = true};
  PathRules held{};
  std::string name = "fake";
  std::string directory = "/work";

  const std::string& id() const override { return id_; }
  const std::string& provider() const override { return name; }
  Features features() const override { return has; }
  const PathRules& path_rules() const override { return held; }
  const std::string& workdir() const override { return directory; }

  Task<Executed> execute(std::string command, ExecuteOptions with) override {
    if (failure) co_return *failure;
    commands.push_back(command);
    options.push_back(with);
    if (answer) co_return answer(command);
    Executed out;
    out.exit_code = 0;
    out.state = "exited";
    co_return out;
  }

  Task<std::vector<FileResult>> upload(
      std::vector<std::pair<std::string, std::string>> all) override {
    if (failure) co_return *failure;
    std::vector<FileResult> out;
    for (auto& [path, bytes] : all) {
      out.push_back({path, std::nullopt, path == "/denied" ? "permission_denied" : ""});
      if (out.back().error.empty()) files[path] = std::move(bytes);
    }
    co_return out;
  }

  Task<std::vector<FileResult>> download(std::vector<std::string> paths) override {
    if (failure) co_return *failure;
    std::vector<FileResult> out;
    for (const auto& path : paths) {
      const auto found = files.find(path);
      out.push_back({path, std::nullopt, "file_not_found"});
      if (found != files.end()) out.back() = {path, found->second, ""};
    }
    co_return out;
  }

  Task<Found<FileEntry>> list(std::string path) override {
    if (failure) co_return *failure;
    Found<FileEntry> found;
    for (const auto& [file, bytes] : files) {
      if (file.starts_with(path)) found.entries.push_back({file, false, bytes.size(), {}});
    }
    co_return found;
  }

  Task<FileEntry> stat(std::string path) override {
    if (failure) co_return *failure;
    const auto found = files.find(path);
    if (found == files.end()) co_return missing(path);
    co_return FileEntry{path, false, found->second.size(), {}};
  }

  Task<FilePage> read(std::string path, std::uint64_t offset, std::uint64_t limit) override {
    if (failure) co_return *failure;
    const auto found = files.find(path);
    if (found == files.end()) co_return missing(path);
    co_return page_of(found->second, offset, limit);
  }

  Task<void> remove(std::string path) override {
    if (failure) co_return *failure;
    if (files.erase(path) == 0) co_return missing(path);
    co_return Result<void>();
  }

  Task<std::string> start(std::string command, ExecuteOptions with) override {
    commands.push_back(command);
    options.push_back(with);
    co_return with.id;
  }

  Task<Running> poll(std::string id, std::uint64_t from, double) override {
    if (id != "job") co_return Error{Code::kNotFound, "unknown_command", "no command " + id, 0};
    Running out{.id = id, .state = "running", .exit_code = {}, .output = {}, .next = from};
    const std::string all = "one\ntwo\n";
    if (from >= all.size()) {
      out.state = "exited";
      out.exit_code = 5;
      co_return out;
    }
    out.output = all.substr(static_cast<std::size_t>(from), 4);
    out.next = from + 4;
    co_return out;
  }

  Task<CodeRun> run_code(CodeRequest request) override {
    CodeRun out;
    out.run.output = request.language + ":" + request.code + ":" + request.input;
    out.run.exit_code = 0;
    out.run.state = "exited";
    out.phase = "run";
    out.artifacts = {"plot.png"};
    co_return out;
  }

 private:
  static Error missing(const std::string& path) {
    return {Code::kNotFound, "file_not_found", "'" + path + "' does not exist"};
  }

  std::string id_ = "fake-1";
};

}  // namespace cay::providers::testing
