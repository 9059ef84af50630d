#include <utility>

#include "client/api.h"
#include "client/async_state.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

constexpr std::size_t kMaxFile = 1u << 30;  // what read_file() holds in memory

Awaitable<std::string> read_whole(std::shared_ptr<const AsyncPlace> place, std::string path,
                                  std::string user) {
  auto source = co_await api::read_file(place->client->connection, place->ref, std::move(path),
                                        std::move(user));
  if (!source) api::raise(std::move(source).error());
  auto bytes = co_await read_all(*std::move(source), kMaxFile);
  if (!bytes) api::raise(std::move(bytes).error());
  co_return *std::move(bytes);
}

}  // namespace

Awaitable<std::string> AsyncSandboxFiles::read_file(std::string path, std::string user) const {
  return read_whole(place_, std::move(path), std::move(user));
}
Awaitable<FileInfo> AsyncSandboxFiles::write_file(std::string path, std::string bytes,
                                                  std::uint32_t mode, std::string user) const {
  return at_place(place_, api::write_file, std::move(path), mode, std::move(user),
                  source_of(std::move(bytes)));
}
Awaitable<FileInfo> AsyncSandboxFiles::stat(std::string path, std::string user) const {
  return at_place(place_, api::stat, std::move(path), std::move(user));
}
Awaitable<std::vector<FileInfo>> AsyncSandboxFiles::list(std::string path, std::string user) const {
  return at_place(place_, api::list_directory, std::move(path), std::move(user));
}
Awaitable<void> AsyncSandboxFiles::make_directory(std::string path, std::string user) const {
  return at_place(place_, api::make_directory, std::move(path), std::move(user));
}
Awaitable<void> AsyncSandboxFiles::remove_path(std::string path, bool recursive,
                                               std::string user) const {
  return at_place(place_, api::remove_path, std::move(path), recursive, std::move(user));
}
Awaitable<void> AsyncSandboxFiles::rename(std::string from, std::string to,
                                          std::string user) const {
  return at_place(place_, api::rename, std::move(from), std::move(to), std::move(user));
}
Awaitable<std::vector<FileInfo>> AsyncSandboxFiles::glob(std::string root,
                                                         std::string pattern) const {
  return at_place(place_, api::glob, std::move(root), std::move(pattern));
}
Awaitable<std::vector<GrepMatch>> AsyncSandboxFiles::grep(std::string root, std::string text,
                                                          std::string glob) const {
  return at_place(place_, api::grep, std::move(root), std::move(text), std::move(glob));
}

Awaitable<ChangeCount> AsyncSandboxFileChanges::set_mode(std::string path, std::uint32_t mode,
                                                         bool recursive, std::string user) const {
  return at_place(place_, api::set_mode, std::move(path), mode, recursive, std::move(user));
}
Awaitable<ChangeCount> AsyncSandboxFileChanges::set_owner(std::string path, std::string owner,
                                                          bool recursive, std::string user) const {
  return at_place(place_, api::set_owner, std::move(path), std::move(owner), recursive,
                  std::move(user));
}
Awaitable<ChangeCount> AsyncSandboxFileChanges::copy(std::string from, std::string to,
                                                     bool exclusive, std::string user) const {
  return at_place(place_, api::copy_path, std::move(from), std::move(to), exclusive,
                  std::move(user));
}
Awaitable<ChangeCount> AsyncSandboxFileChanges::move(std::string from, std::string to,
                                                     bool exclusive, std::string user) const {
  return at_place(place_, api::move_path, std::move(from), std::move(to), exclusive,
                  std::move(user));
}
Awaitable<ReplaceReport> AsyncSandboxFileChanges::replace(std::string path, std::string text,
                                                          std::string replacement, std::string glob,
                                                          std::string user) const {
  api::Replacement what{std::move(path), std::move(text), std::move(replacement), std::move(glob)};
  return at_place(place_, api::replace, std::move(what), std::move(user));
}
Awaitable<std::vector<FileInfo>> AsyncSandboxFileChanges::list_levels(std::string path,
                                                                      std::uint32_t depth,
                                                                      FileFacts facts,
                                                                      std::string user) const {
  return at_place(place_, api::list_levels, std::move(path), depth, facts, std::move(user));
}
Awaitable<std::vector<FileContent>> AsyncSandboxFileChanges::read_files(
    std::vector<std::string> paths, std::string user) const {
  return at_place(place_, api::read_files, std::move(paths), std::move(user));
}
Awaitable<std::vector<FileContent>> AsyncSandboxFileChanges::write_files(
    std::vector<FileToWrite> files, std::string user) const {
  return at_place(place_, api::write_files, std::move(files), std::move(user));
}
Awaitable<std::string> AsyncSandboxFileChanges::watch(std::string path, std::int64_t idle_s,
                                                      std::string user) const {
  return at_place(place_, api::watch, std::move(path), idle_s, std::move(user));
}
Awaitable<FileEvents> AsyncSandboxFileChanges::watch_events(std::string id, std::uint64_t after,
                                                            std::uint32_t wait_s) const {
  return at_place(place_, api::watch_events, std::move(id), after, wait_s);
}
Awaitable<void> AsyncSandboxFileChanges::end_watch(std::string id) const {
  return at_place(place_, api::end_watch, std::move(id));
}

}  // namespace cay::sdk
