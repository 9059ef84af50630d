#include <cstdio>

#include "client/api.h"
#include "client/json_read.h"

namespace cay::client {
namespace {

Task<void> post_json(Connection& at, std::string target, json::object body) {
  auto answer = co_await at.call("POST", std::move(target), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

void put_user(json::object& body, const std::string& user) {
  if (!user.empty()) body["user"] = user;
}

std::string octal(std::uint32_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode & 07777);
  return text;
}

}  // namespace

Task<std::unique_ptr<ByteSource>> read_file(Connection& at, std::string ref, std::string path,
                                            std::string user) {
  return at.download(sandbox_target(ref, "/files" + path_query(path, user)));
}

Task<sdk::FileInfo> write_file(Connection& at, std::string ref, std::string path,
                               std::uint32_t mode, std::string user,
                               std::unique_ptr<ByteSource> bytes) {
  std::string target = sandbox_target(
      ref, "/files" + path_query(path, user) + (mode == 0 ? "" : "&mode=" + octal(mode)));
  auto answer =
      co_await at.upload("PUT", std::move(target), "application/octet-stream", std::move(bytes));
  if (!answer) co_return std::move(answer).error();
  co_return file_from(*answer);
}

Task<sdk::FileInfo> stat(Connection& at, std::string ref, std::string path, std::string user) {
  auto answer =
      co_await at.call_json("GET", sandbox_target(ref, "/files/stat" + path_query(path, user)));
  if (!answer) co_return std::move(answer).error();
  co_return file_from(*answer);
}

Task<std::vector<sdk::FileInfo>> list_directory(Connection& at, std::string ref, std::string path,
                                                std::string user) {
  auto answer =
      co_await at.call_json("GET", sandbox_target(ref, "/files/list" + path_query(path, user)));
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", file_from);
}

Task<void> make_directory(Connection& at, std::string ref, std::string path, std::string user) {
  json::object body{{"path", path}};
  put_user(body, user);
  return post_json(at, sandbox_target(ref, "/files/mkdir"), std::move(body));
}

Task<void> remove_path(Connection& at, std::string ref, std::string path, bool recursive,
                       std::string user) {
  std::string target =
      sandbox_target(ref, "/files" + path_query(path, user) + (recursive ? "&recursive=true" : ""));
  auto answer = co_await at.call("DELETE", std::move(target));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

Task<void> rename(Connection& at, std::string ref, std::string from, std::string to,
                  std::string user) {
  json::object body{{"from", from}, {"to", to}};
  put_user(body, user);
  return post_json(at, sandbox_target(ref, "/files/rename"), std::move(body));
}

Task<std::vector<sdk::FileInfo>> glob(Connection& at, std::string ref, std::string root,
                                      std::string pattern) {
  json::object body{{"path", root}, {"pattern", pattern}};
  auto answer =
      co_await at.call_json("POST", sandbox_target(ref, "/files/glob"), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", file_from);
}

Task<std::vector<sdk::GrepMatch>> grep(Connection& at, std::string ref, std::string root,
                                       std::string text, std::string glob) {
  json::object body{{"path", root}, {"text", text}};
  if (!glob.empty()) body["glob"] = glob;
  auto answer =
      co_await at.call_json("POST", sandbox_target(ref, "/files/grep"), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", match_from);
}

Task<std::unique_ptr<ByteSource>> read_tree(Connection& at, std::string ref, std::string path,
                                            std::string user) {
  return at.download(sandbox_target(ref, "/files/tree" + path_query(path, user)));
}

Task<void> write_tree(Connection& at, std::string ref, std::string path, std::string user,
                      std::unique_ptr<ByteSource> tar) {
  std::string target = sandbox_target(ref, "/files/tree" + path_query(path, user));
  auto answer = co_await at.upload("PUT", std::move(target), "application/x-tar", std::move(tar));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

}  // namespace cay::client
