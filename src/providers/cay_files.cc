// Files of a sandbox by the daemon's own verbs, and the errors of its calls.
#include <algorithm>
#include <utility>

#include "providers/cay_backend.h"
#include "providers/cay_calls.h"
#include "providers/text_page.h"

namespace cay::providers {
namespace {

constexpr std::uint64_t kMostDownloaded = 256u << 20;
constexpr std::uint64_t kMostRead = 1u << 20;  // a larger file is read in parts

// The codes of upload() and download(); empty: the error is not about the file.
std::string file_word(const Error& error) {
  const std::string& reason = error.reason;
  if (reason == "file_not_found") return reason;
  if (reason == "is_a_directory") return "is_directory";
  if (reason == "permission_denied" || reason == "read_only") return "permission_denied";
  if (reason == "invalid_path" || reason == "bad_path" || reason == "not_a_directory" ||
      reason == "not_a_regular_file" || reason == "symlink_loop")
    return "invalid_path";
  if (reason == "disk_full" || reason == "file_too_large" || reason == "file_deadline") {
    return reason;
  }
  return {};
}

FileEntry entry_of(const sdk::FileInfo& info) {
  return {info.path, info.is_directory(), info.size, info.mtime};
}

}  // namespace

Error error_of(const ApiError& thrown) {
  // The two enums are in step (client/errors.h).
  const auto code = static_cast<Code>(static_cast<int>(thrown.code()) + 1);
  return {code, thrown.reason(), thrown.what()};
}

Error lost_sandbox(const std::string& id, const std::string& why) {
  return {Code::kLost, "sandbox_lost", "the sandbox " + id + " is gone: " + why};
}

CayFiles::CayFiles(const sdk::AsyncClient& client, const sdk::SandboxInfo& info)
    : client_(client), box_(client.sandbox(info.id)), id_(info.id), user_(info.user) {}

asio::awaitable<Error> CayFiles::judged(Error error) {
  if (error.reason == "sandbox_not_found") {
    co_return lost_sandbox(id_, "it was deleted, or its time was over");
  }
  if (error.reason == "disk_lost") co_return lost_sandbox(id_, error.message);
  if (error.reason != "sandbox_not_ready") co_return error;
  auto info = co_await caught(box_.info());
  if (!info && info.error().reason == "sandbox_not_found") {
    co_return lost_sandbox(id_, "it was deleted");
  }
  if (info && (info->state == "failed" || info->state == "deleting")) {
    co_return lost_sandbox(
        id_, "it is " + info->state + (info->reason.empty() ? "" : ": " + info->reason));
  }
  co_return error;
}

Task<std::vector<FileResult>> CayFiles::upload(
    std::vector<std::pair<std::string, std::string>> files) {
  std::vector<FileResult> out;
  for (auto& [path, bytes] : files) {
    FileResult result{path, std::nullopt, {}};
    if (!path.starts_with('/')) {
      result.error = "invalid_path";
    } else {
      auto written = co_await called(box_.write_file(path, std::move(bytes), 0, user_));
      if (!written) {
        result.error = file_word(written.error());
        if (result.error.empty()) co_return std::move(written).error();
      }
    }
    out.push_back(std::move(result));
  }
  co_return out;
}

Task<std::string> CayFiles::content_of(std::string path) {
  auto info = co_await called(box_.stat(path, user_));
  if (!info) co_return std::move(info).error();
  if (info->size > kMostDownloaded) {
    co_return Error{Code::kUnsupported, "file_too_large",
                    "'" + path + "' has " + std::to_string(info->size) +
                        " bytes: read a part of it by a command",
                    0};
  }
  auto content = co_await called(box_.read_file(std::move(path), user_));
  co_return content;
}

Task<std::vector<FileResult>> CayFiles::download(std::vector<std::string> paths) {
  std::vector<FileResult> out;
  for (const auto& path : paths) {
    FileResult result{path, std::nullopt, {}};
    if (!path.starts_with('/')) {
      result.error = "invalid_path";
    } else {
      auto content = co_await content_of(path);
      if (content) {
        result.content = *std::move(content);
      } else {
        result.error = file_word(content.error());
        if (result.error.empty()) co_return std::move(content).error();
      }
    }
    out.push_back(std::move(result));
  }
  co_return out;
}

Task<Found<FileEntry>> CayFiles::list(std::string path) {
  auto listed = co_await called(box_.list(std::move(path), user_));
  if (!listed) co_return std::move(listed).error();
  Found<FileEntry> found;
  for (const auto& info : *listed) found.entries.push_back(entry_of(info));
  std::sort(found.entries.begin(), found.entries.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  co_return found;
}

Task<FileEntry> CayFiles::stat(std::string path) {
  auto info = co_await called(box_.stat(path, user_));
  if (!info) co_return std::move(info).error();
  if (info->kind == "symlink") {
    auto target = co_await FileVerbs::stat(std::move(path));
    co_return target;
  }
  if (info->kind == "other") {
    co_return Error{Code::kInvalidArgument, "not_a_regular_file",
                    "'" + path + "' is not a regular file", 0};
  }
  auto entry = entry_of(*info);
  entry.path = std::move(path);
  co_return entry;
}

Task<FilePage> CayFiles::read(std::string path, std::uint64_t offset, std::uint64_t limit) {
  auto info = co_await called(box_.stat(path, user_));
  if (!info) co_return std::move(info).error();
  if (info->kind != "file" || info->size > kMostRead) {
    auto page = co_await FileVerbs::read(std::move(path), offset, limit);
    co_return page;
  }
  auto content = co_await called(box_.read_file(std::move(path), user_));
  if (!content) co_return std::move(content).error();
  co_return page_of(*content, offset, limit);
}

Task<void> CayFiles::remove(std::string path) {
  auto removed = co_await called(box_.remove_path(std::move(path), true, user_));
  if (!removed) co_return std::move(removed).error();
  co_return Result<void>();
}

}  // namespace cay::providers
