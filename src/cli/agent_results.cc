#include "cli/agent_results.h"

#include <fcntl.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "cli/output.h"
#include "client/new_file.h"

namespace cay::cli {
namespace {

namespace fs = std::filesystem;
namespace json = codec::json;

// Replaces `path` with `bytes`, whole or not at all. Makes its directories.
Result<void> write_whole(const fs::path& path, std::string_view bytes) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return client::local_error(failed.value(), path.parent_path().string());
  const UniqueFd dir(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return client::local_error(errno, path.parent_path().string());
  CAY_TRY(auto file, client::NewFile::create_hidden(dir.get(), path.string()));
  if (write_all(file.fd(), bytes) != Written::kAll)
    return client::local_error(errno, path.string());
  return file.commit(path.filename().string());
}

}  // namespace

Result<AgentResults> AgentResults::open(const std::string& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return client::local_error(failed.value(), directory);
  return AgentResults(directory);
}

bool AgentResults::is_done(const std::string& task) const {
  std::ifstream file(root_ / task / "result.json");
  if (!file) return false;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto result = codec::parse_object(text);
  if (!result) return false;
  const json::value* failure = result->if_contains("failure");
  return failure == nullptr || *failure != "infrastructure";
}

Result<void> AgentResults::write_events(const std::string& task, std::string_view lines) const {
  return write_whole(root_ / task / "events.jsonl", lines);
}

Result<void> AgentResults::write_file(const std::string& task, const std::string& path,
                                      std::string_view bytes) const {
  const fs::path inside = fs::path(path).lexically_normal().relative_path();
  if (inside.empty() || !inside.has_filename() || *inside.begin() == "..")
    return Error{Code::kInvalidArgument, "local_file", path + " names no file", 0};
  return write_whole(root_ / task / "files" / inside, bytes);
}

Result<void> AgentResults::write_result(const std::string& task, const json::object& result) const {
  return write_whole(root_ / task / "result.json", codec::write(result) + "\n");
}

}  // namespace cay::cli
