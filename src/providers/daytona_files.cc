#include "providers/daytona_files.h"

#include <map>
#include <optional>

#include "async/bytes.h"
#include "base/sha256.h"
#include "codec/json.h"
#include "http/multipart.h"
#include "providers/daytona_api.h"

namespace cay::providers {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostOfOneFile = 256u << 20;  // of one file

using Files = std::vector<std::pair<std::string, std::string>>;

// The word of FileResult::error for a fault; empty: it is not about the file.
std::string word_of_fault(int status, const DaytonaFault& fault) {
  const auto says = [&](std::string_view text) {
    return fault.message.find(text) != std::string::npos;
  };
  if (says("is a directory")) return "is_directory";
  if (fault.code == "FILE_ACCESS_DENIED" || says("ermission denied")) return "permission_denied";
  if (fault.code == "FILE_NOT_FOUND" || says("no such file")) return "file_not_found";
  if (status == 403 && fault.code.empty()) return {};
  if (status == 400 || fault.code == "INVALID_FILE_PATH") return "invalid_path";
  return {};
}

// A value of a parameter in quotes (RFC 7578): the three characters that end it are encoded.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') {
      out += "%22";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

http::ClientRequest upload_request(const Files& files) {
  std::string digests;
  for (const auto& [path, bytes] : files) digests += sha256_hex(bytes);
  const std::string boundary = "cay-" + sha256_hex(digests).substr(0, 40);
  http::ClientRequest out;
  out.method = "POST";
  out.target = "/files/bulk-upload";
  out.headers.add("Content-Type", "multipart/form-data; boundary=" + boundary);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [path, bytes] = files[i];
    const std::string name = "files[" + std::to_string(i) + "]";
    out.body += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name +
                ".path\"\r\n\r\n" + path + "\r\n--" + boundary +
                "\r\nContent-Disposition: form-data; name=\"" + name +
                ".file\"; filename=" + in_quotes(path.substr(path.rfind('/') + 1)) +
                "\r\nContent-Type: application/octet-stream\r\n\r\n" + bytes + "\r\n";
  }
  out.body += "--" + boundary + "--\r\n";
  return out;
}

// Sends these files. The word of the fault; empty: all are there.
Task<std::string> sent(http::Client& toolbox, const Files& files) {
  CAY_CO_TRY(const auto answer, co_await toolbox.request(upload_request(files)));
  if (answer.status < 300) co_return std::string();
  // {"errors": ["PATH: why"]}, or the envelope.
  auto fault = daytona_fault(answer.body);
  auto word = word_of_fault(answer.status, fault);
  if (word.empty()) co_return daytona_error(answer.status, answer.body);
  co_return word;
}

// Reads one part. Above the bound nothing is kept.
Task<std::optional<std::string>> part_content(http::MultipartReader& reader) {
  std::string out;
  bool too_large = false;
  for (;;) {
    CAY_CO_TRY(const Bytes piece, co_await reader.next());
    if (piece.empty()) break;
    too_large = too_large || out.size() + piece.size() > kMostOfOneFile;
    if (too_large) {
      out.clear();
    } else {
      out += piece;
    }
  }
  if (too_large) co_return std::optional<std::string>();
  co_return std::optional<std::string>(std::move(out));
}

Task<std::map<std::string, FileResult>> results_by_path(http::MultipartReader& reader) {
  std::map<std::string, FileResult> out;
  for (;;) {
    CAY_CO_TRY(const auto part, co_await reader.next_part());
    if (!part) co_return out;
    CAY_CO_TRY(auto content, co_await part_content(reader));
    const auto path = part->filename.value_or("");
    auto& result = out[path];
    result.path = path;
    if (part->name == "error") {
      const auto fault = daytona_fault(content.value_or(""));
      result.error = word_of_fault(400, fault);
      continue;
    }
    if (!content) result.error = "file_too_large";
    result.content = std::move(content);
  }
}

}  // namespace

Task<std::vector<FileResult>> daytona_upload(http::Client& toolbox, Files files) {
  std::vector<FileResult> out;
  Files to_send;
  for (auto& [path, bytes] : files) {
    const bool is_absolute = path.starts_with('/');
    out.push_back({path, std::nullopt, is_absolute ? "" : "invalid_path"});
    if (is_absolute) to_send.emplace_back(std::move(path), std::move(bytes));
  }
  if (to_send.empty()) co_return out;
  CAY_CO_TRY(auto word, co_await sent(toolbox, to_send));
  if (word.empty()) co_return out;
  std::map<std::string, std::string> words;
  for (auto& file : to_send) {
    const auto path = file.first;
    if (to_send.size() > 1) {
      Files alone;
      alone.push_back(std::move(file));
      CAY_CO_TRY(word, co_await sent(toolbox, alone));
    }
    words[path] = word;
  }
  for (auto& result : out) {
    if (result.error.empty()) result.error = words[result.path];
  }
  co_return out;
}

Task<std::vector<FileResult>> daytona_download(http::Client& toolbox,
                                               std::vector<std::string> paths) {
  json::array asked;
  for (const auto& path : paths) {
    if (path.starts_with('/')) asked.push_back(codec::text(path));
  }
  std::map<std::string, FileResult> found;
  if (!asked.empty()) {
    http::ClientRequest request;
    request.method = "POST";
    request.target = "/files/bulk-download";
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "multipart/form-data");
    json::object body;
    body["paths"] = std::move(asked);
    request.body = codec::write(body);
    CAY_CO_TRY(auto answer, co_await toolbox.send(std::move(request)));
    const std::string type(answer.headers.get("Content-Type").value_or(""));
    const auto boundary = http::boundary_of(type);
    if (answer.status >= 300 || !boundary) {
      CAY_CO_TRY(const auto head, co_await read_head(std::move(answer.body), 64u << 10));
      if (answer.status >= 300) co_return daytona_error(answer.status, head.bytes);
      co_return Error{Code::kUnavailable, "provider_failed",
                      "Daytona answered a download with " + type, 0};
    }
    http::MultipartReader reader(*boundary, std::move(answer.body), {.parts = paths.size() + 1});
    CAY_CO_TRY(found, co_await results_by_path(reader));
  }
  std::vector<FileResult> out;
  for (auto& path : paths) {
    const auto at = found.find(path);
    if (at != found.end()) {
      out.push_back(at->second);
      if (!out.back().content && out.back().error.empty()) out.back().error = "invalid_path";
    } else {
      out.push_back(
          {path, std::nullopt, path.starts_with('/') ? "file_not_found" : "invalid_path"});
    }
  }
  co_return out;
}

}  // namespace cay::providers
