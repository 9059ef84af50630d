// AgentResults: the directory of `cay agent --tasks`. Each task has a directory of its name, with
// result.json, events.jsonl and its files. The result is written last, so a task without one is
// not done.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace cay::cli {

class AgentResults {
 public:
  // Made with its parents where it is missing.
  static Result<AgentResults> open(const std::string& directory);

  // True where the task has a result that no failure of infrastructure made.
  bool is_done(const std::string& task) const;
  Result<void> write_events(const std::string& task, std::string_view lines) const;
  // `path` is absolute and inside the sandbox. The file is files/PATH. Fails kInvalidArgument
  // (local_file) for a path that leads out of the directory.
  Result<void> write_file(const std::string& task, const std::string& path,
                          std::string_view bytes) const;
  Result<void> write_result(const std::string& task, const codec::json::object& result) const;

 private:
  explicit AgentResults(std::filesystem::path root) : root_(std::move(root)) {}
  std::filesystem::path root_;
};

}  // namespace cay::cli
