#include <cstdio>
#include <utility>

#include "client/api.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

boost::json::object as_user(boost::json::object body, const std::string& user) {
  if (!user.empty()) body["user"] = user;
  return body;
}

boost::json::object ends(const std::string& from, const std::string& to, bool exclusive) {
  return {{"from", from}, {"to", to}, {"exclusive", exclusive}};
}

}  // namespace

ChangeCount SandboxFileChanges::set_mode(const std::string& path, std::uint32_t mode,
                                         bool recursive, const std::string& user) const {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode);
  auto body = as_user({{"path", path}, {"mode", text}, {"recursive", recursive}}, user);
  return state_->client->wait(
      api::change_files(state_->client->connection, state_->at(), "chmod", std::move(body)));
}
ChangeCount SandboxFileChanges::set_owner(const std::string& path, const std::string& owner,
                                          bool recursive, const std::string& user) const {
  auto body = as_user({{"path", path}, {"owner", owner}, {"recursive", recursive}}, user);
  return state_->client->wait(
      api::change_files(state_->client->connection, state_->at(), "chown", std::move(body)));
}
ChangeCount SandboxFileChanges::copy(const std::string& from, const std::string& to, bool exclusive,
                                     const std::string& user) const {
  auto body = as_user(ends(from, to, exclusive), user);
  body["recursive"] = true;
  return state_->client->wait(
      api::change_files(state_->client->connection, state_->at(), "copy", std::move(body)));
}
ChangeCount SandboxFileChanges::move(const std::string& from, const std::string& to, bool exclusive,
                                     const std::string& user) const {
  auto body = as_user(ends(from, to, exclusive), user);
  return state_->client->wait(
      api::change_files(state_->client->connection, state_->at(), "move", std::move(body)));
}
ReplaceReport SandboxFileChanges::replace(const std::string& path, const std::string& text,
                                          const std::string& replacement, const std::string& glob,
                                          const std::string& user) const {
  auto body = as_user({{"path", path}, {"text", text}, {"replacement", replacement}}, user);
  if (!glob.empty()) body["glob"] = glob;
  return state_->client->wait(
      api::replace(state_->client->connection, state_->at(), std::move(body)));
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
