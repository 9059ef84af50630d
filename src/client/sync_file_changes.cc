#include <utility>

#include "client/api.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

ChangeCount SandboxFileChanges::set_mode(const std::string& path, std::uint32_t mode,
                                         bool recursive, const std::string& user) const {
  return state_->client->wait(
      api::set_mode(state_->client->connection, state_->at(), path, mode, recursive, user));
}
ChangeCount SandboxFileChanges::set_owner(const std::string& path, const std::string& owner,
                                          bool recursive, const std::string& user) const {
  return state_->client->wait(
      api::set_owner(state_->client->connection, state_->at(), path, owner, recursive, user));
}
ChangeCount SandboxFileChanges::copy(const std::string& from, const std::string& to, bool exclusive,
                                     const std::string& user) const {
  return state_->client->wait(
      api::copy_path(state_->client->connection, state_->at(), from, to, exclusive, user));
}
ChangeCount SandboxFileChanges::move(const std::string& from, const std::string& to, bool exclusive,
                                     const std::string& user) const {
  return state_->client->wait(
      api::move_path(state_->client->connection, state_->at(), from, to, exclusive, user));
}
ReplaceReport SandboxFileChanges::replace(const std::string& path, const std::string& text,
                                          const std::string& replacement, const std::string& glob,
                                          const std::string& user) const {
  return state_->client->wait(api::replace(state_->client->connection, state_->at(),
                                           {path, text, replacement, glob}, user));
}
std::vector<FileInfo> SandboxFileChanges::list_levels(const std::string& path, std::uint32_t depth,
                                                      FileFacts facts,
                                                      const std::string& user) const {
  return state_->client->wait(
      api::list_levels(state_->client->connection, state_->at(), path, depth, facts, user));
}
std::vector<FileContent> SandboxFileChanges::read_files(const std::vector<std::string>& paths,
                                                        const std::string& user) const {
  return state_->client->wait(
      api::read_files(state_->client->connection, state_->at(), paths, user));
}
std::vector<FileContent> SandboxFileChanges::write_files(std::vector<FileToWrite> files,
                                                         const std::string& user) const {
  return state_->client->wait(
      api::write_files(state_->client->connection, state_->at(), std::move(files), user));
}

std::string SandboxFileChanges::watch(const std::string& path, std::int64_t idle_s,
                                      const std::string& user) const {
  return state_->client->wait(
      api::watch(state_->client->connection, state_->at(), path, idle_s, user));
}
FileEvents SandboxFileChanges::watch_events(const std::string& id, std::uint64_t after,
                                            std::uint32_t wait_s) const {
  return state_->client->wait(
      api::watch_events(state_->client->connection, state_->at(), id, after, wait_s));
}
void SandboxFileChanges::end_watch(const std::string& id) const {
  state_->client->wait(api::end_watch(state_->client->connection, state_->at(), id));
}

}  // namespace cay::sdk
