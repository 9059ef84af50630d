#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/ascii.h"
#include "client/api.h"
#include "client/json_read.h"
#include "codec/base64.h"
#include "codec/model_json.h"
#include "http/client.h"

namespace cay::client {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

Error cut_answer() {
  return {Code::kUnavailable, "cut_answer", "the answer with the files is not whole: retry", 0};
}

std::string octal_of(std::uint32_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode);
  return text;
}

// A path of an answer, or its bytes where they are no UTF-8.
std::string path_in(const json::object& from, const std::string& name) {
  if (!from.contains(name + "_base64")) return string_in(from, name);
  return codec::from_base64(string_in(from, name + "_base64")).value_or("");
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::max(hex_digit(text[i + 1]), 0) * 16 +
                             std::max(hex_digit(text[i + 2]), 0));
    i += 2;
  }
  return out;
}

void put_error(sdk::FileContent& out, const json::object& from) {
  const auto* error = from.if_contains("error");
  if (error == nullptr || !error->is_object()) return;
  out.reason = string_in(error->get_object(), "reason");
  out.error = string_in(error->get_object(), "message");
}

Result<sdk::FileContent> part_of(std::string_view part) {
  sdk::FileContent out;
  bool failed = false;
  while (true) {
    const std::size_t end = part.find(kLineEnd);
    if (end == std::string_view::npos) return cut_answer();
    const std::string_view line = part.substr(0, end);
    part.remove_prefix(end + kLineEnd.size());
    if (line.empty()) break;
    constexpr std::string_view kPath = "Cay-Path: ";
    if (line.starts_with(kPath)) out.path = unescaped(line.substr(kPath.size()));
    failed = failed || line.starts_with("Cay-Error: ");
  }
  if (!failed) {
    out.bytes = std::string(part);
    return out;
  }
  CAY_TRY(const auto body, codec::parse_object(part));
  put_error(out, body);
  if (out.reason.empty()) return cut_answer();
  return out;
}

// The parts between the boundaries. The answer begins with one.
Result<std::vector<sdk::FileContent>> parts_of(std::string_view answer) {
  std::vector<sdk::FileContent> out;
  const std::size_t first = answer.find(kLineEnd);
  if (first == std::string_view::npos || !answer.starts_with("--")) return cut_answer();
  const std::string boundary = std::string(kLineEnd) + std::string(answer.substr(0, first));
  if (boundary.ends_with("--")) return out;  // no path was requested
  std::string_view left = answer.substr(first + kLineEnd.size());
  while (true) {
    const std::size_t end = left.find(boundary);
    if (end == std::string_view::npos) return cut_answer();
    CAY_TRY(auto part, part_of(left.substr(0, end)));
    out.push_back(std::move(part));
    left.remove_prefix(end + boundary.size());
    if (left.starts_with("--")) return out;
    if (!left.starts_with(kLineEnd)) return cut_answer();
    left.remove_prefix(kLineEnd.size());
  }
}

sdk::ReplacedFile replaced_from(const json::object& from) {
  sdk::ReplacedFile out{.path = path_in(from, "path"), .count = number_in(from, "count")};
  const auto* error = from.if_contains("error");
  if (error != nullptr && error->is_object()) out.error = string_in(error->get_object(), "message");
  return out;
}

sdk::FileContent written_from(const json::object& from) {
  sdk::FileContent out{.path = string_in(from, "path")};
  put_error(out, from);
  return out;
}

sdk::FileEvent event_from(const json::object& from) {
  return {.seq = number_in(from, "seq"),
          .kind = string_in(from, "kind"),
          .path = path_in(from, "path"),
          .to = path_in(from, "to"),
          .directory = bool_in(from, "directory")};
}

json::object as_user(json::object body, const std::string& user) {
  if (!user.empty()) body["user"] = user;
  return body;
}

json::object ends(const std::string& from, const std::string& to, bool exclusive) {
  return {{"from", from}, {"to", to}, {"exclusive", exclusive}};
}

// `verb`: the last part of the route.
Task<sdk::ChangeCount> change_files(Connection& at, std::string ref, std::string verb,
                                    json::object body) {
  auto answer =
      co_await at.call_json("POST", sandbox_target(ref, "/files/" + verb), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return sdk::ChangeCount{.entries = number_in(*answer, "entries"),
                             .bytes = number_in(*answer, "bytes"),
                             .left_out = number_in(*answer, "left_out"),
                             .copied = bool_in(*answer, "copied")};
}

}  // namespace

Task<sdk::ChangeCount> set_mode(Connection& at, std::string ref, std::string path,
                                std::uint32_t mode, bool recursive, std::string user) {
  json::object body{{"path", path}, {"mode", octal_of(mode)}, {"recursive", recursive}};
  return change_files(at, std::move(ref), "chmod", as_user(std::move(body), user));
}

Task<sdk::ChangeCount> set_owner(Connection& at, std::string ref, std::string path,
                                 std::string owner, bool recursive, std::string user) {
  json::object body{{"path", path}, {"owner", owner}, {"recursive", recursive}};
  return change_files(at, std::move(ref), "chown", as_user(std::move(body), user));
}

Task<sdk::ChangeCount> copy_path(Connection& at, std::string ref, std::string from, std::string to,
                                 bool exclusive, std::string user) {
  json::object body = ends(from, to, exclusive);
  body["recursive"] = true;
  return change_files(at, std::move(ref), "copy", as_user(std::move(body), user));
}

Task<sdk::ChangeCount> move_path(Connection& at, std::string ref, std::string from, std::string to,
                                 bool exclusive, std::string user) {
  return change_files(at, std::move(ref), "move", as_user(ends(from, to, exclusive), user));
}

Task<sdk::ReplaceReport> replace(Connection& at, std::string ref, Replacement what,
                                 std::string user) {
  json::object body{{"path", what.path}, {"text", what.text}, {"replacement", what.by}};
  if (!what.glob.empty()) body["glob"] = what.glob;
  body = as_user(std::move(body), user);
  auto answer =
      co_await at.call_json("POST", sandbox_target(ref, "/files/replace"), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  sdk::ReplaceReport out;
  out.files = list_from(*answer, "items", replaced_from);
  out.truncated = bool_in(*answer, "truncated");
  co_return out;
}

Task<std::vector<sdk::FileInfo>> list_levels(Connection& at, std::string ref, std::string path,
                                             std::uint32_t depth, sdk::FileFacts facts,
                                             std::string user) {
  std::string query = path_query(path, user) + "&depth=" + std::to_string(depth);
  if (facts.names) query += "&names=true";
  if (facts.xattrs) query += "&xattrs=true";
  auto answer = co_await at.call_json("GET", sandbox_target(ref, "/files/list" + query));
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", file_from);
}

Task<std::vector<sdk::FileContent>> read_files(Connection& at, std::string ref,
                                               std::vector<std::string> paths, std::string user) {
  json::array names;
  for (const std::string& path : paths) names.emplace_back(path);
  json::object body{{"paths", std::move(names)}};
  if (!user.empty()) body["user"] = user;
  auto answer =
      co_await at.call("POST", sandbox_target(ref, "/files/download"), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return parts_of(*answer);
}

Task<std::vector<sdk::FileContent>> write_files(Connection& at, std::string ref,
                                                std::vector<sdk::FileToWrite> files,
                                                std::string user) {
  json::array items;
  for (const sdk::FileToWrite& file : files) {
    json::object item{{"path", file.path}};
    codec::put_bytes(item, "content", file.bytes);
    if (file.mode != 0) item["mode"] = octal_of(file.mode);
    if (file.exclusive) item["exclusive"] = true;
    items.emplace_back(std::move(item));
  }
  json::object body{{"files", std::move(items)}};
  if (!user.empty()) body["user"] = user;
  auto answer =
      co_await at.call_json("POST", sandbox_target(ref, "/files/upload"), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", written_from);
}

Task<std::string> watch(Connection& at, std::string ref, std::string path, std::int64_t idle_s,
                        std::string user) {
  json::object body{{"path", path}, {"idle_s", idle_s}};
  if (!user.empty()) body["user"] = user;
  auto answer = co_await at.call_json("POST", sandbox_target(ref, "/watches"), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return string_in(*answer, "id");
}

Task<sdk::FileEvents> watch_events(Connection& at, std::string ref, std::string id,
                                   std::uint64_t after, std::uint32_t wait_s) {
  std::string target = sandbox_target(ref, "/watches/" + http::encode_segment(id) +
                                               "/events?after=" + std::to_string(after) +
                                               "&wait_s=" + std::to_string(wait_s));
  auto answer = co_await at.call_json("GET", std::move(target));
  if (!answer) co_return std::move(answer).error();
  sdk::FileEvents out;
  out.items = list_from(*answer, "items", event_from);
  out.next_after = number_in(*answer, "next_after");
  if (const auto* ended = answer->if_contains("ended"); ended != nullptr && ended->is_object())
    out.ended = string_in(ended->get_object(), "message");
  co_return out;
}

Task<void> end_watch(Connection& at, std::string ref, std::string id) {
  auto answer =
      co_await at.call("DELETE", sandbox_target(ref, "/watches/" + http::encode_segment(id)));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

}  // namespace cay::client
