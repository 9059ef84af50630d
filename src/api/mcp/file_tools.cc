// Tools about files.
#include <algorithm>

#include "api/common/audit_subjects.h"
#include "api/mcp/results.h"
#include "api/mcp/tool_limits.h"
#include "api/mcp/tools.h"
#include "async/bytes.h"
#include "codec/base64.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/utf8.h"
#include "core/ports/runtime.h"
#include "core/verbs/file_changes.h"
#include "core/verbs/files.h"

namespace cay::api::mcp {
namespace {

FileAs as_of(const Call& call) { return {call.arguments.text("user"), ""}; }
std::string path_of(const Call& call) { return call.arguments.text("path", "/"); }

// Returns the media type of an image that models can see, by its first bytes. Empty: it is none.
std::string_view image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "image/webp";
  return {};
}

struct Part {
  std::string_view text;
  std::int64_t first = 1, lines = 0, total = 0;
};

// Returns the requested lines. A last line without its end counts as one.
Part part_of(std::string_view text, std::int64_t first, std::int64_t most) {
  Part out;
  out.first = first;
  std::size_t begin = text.size(), end = text.size();
  std::size_t at = 0;
  while (at < text.size()) {
    ++out.total;
    if (out.total == first) begin = at;
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (out.total >= first && out.total - first < most) {
      ++out.lines;
      end = at;
    }
  }
  out.text = text.substr(begin, std::max(begin, end) - begin);
  return out;
}

struct Whole {
  FileInfo info;
  std::string bytes;
};

// Reads a file that is small enough. Fails kInvalidArgument (file_too_large).
Task<Whole> read_whole(Call call, std::int64_t most) {
  core::ReadRange range;
  auto opened = co_await call.cay->files().read(call.who(), call.sandbox(), path_of(call),
                                                as_of(call), range);
  if (!opened) co_return std::move(opened).error();
  if (opened->info.size > static_cast<std::uint64_t>(most)) {
    co_return Error{Code::kInvalidArgument, "file_too_large",
                    path_of(call) + " has " + std::to_string(opened->info.size) +
                        " bytes, and this tool takes at most " + std::to_string(most) +
                        ": read a part of it with run, such as head, tail or sed",
                    0};
  }
  Whole out{.info = opened->info, .bytes = {}};
  auto bytes = co_await read_all(std::move(opened->bytes), static_cast<std::uint64_t>(most));
  if (!bytes) co_return std::move(bytes).error();
  out.bytes = *std::move(bytes);
  co_return out;
}

void note_file(const Call& call) {
  call.exchange->note_subject("sandbox " + path_subject(call.sandbox()) + " " +
                              path_subject(path_of(call)));
}

Task<FileInfo> write_whole(Call call, std::string bytes, std::optional<std::uint32_t> mode) {
  note_file(call);
  core::WriteOptions options;
  options.as = as_of(call);
  if (mode) {
    options.mode = *mode;
    options.keep_mode = false;
  }
  auto source = source_of(std::move(bytes));
  auto info = co_await call.cay->files().write(call.who(), call.sandbox(), path_of(call), options,
                                               std::move(source));
  co_return info;
}

std::string entry_line(const FileInfo& info) {
  std::string out = info.path;
  if (info.kind == FileKind::kDirectory) return out + "/\n";
  if (info.kind == FileKind::kSymlink) return out + " -> " + info.target + "\n";
  return out + "  " + std::to_string(info.size) + "\n";
}

// The first entries that a result has room for.
json::object entries_result(std::vector<FileInfo> found, bool truncated) {
  constexpr std::size_t kMost = static_cast<std::size_t>(kMostMatches);
  if (found.size() > kMost) {
    found.resize(kMost);
    truncated = true;
  }
  json::array items;
  std::string text;
  for (const FileInfo& info : found) {
    items.emplace_back(codec::to_json(info));
    text += entry_line(info);
  }
  if (found.empty()) text = "[nothing]";
  if (truncated) text += "[there is more]";
  return text_result(text, {{"entries", std::move(items)}, {"truncated", truncated}});
}

}  // namespace

Task<json::object> read_file(Call call) {
  auto got = co_await read_whole(call, kMostWholeFile);
  if (!got) co_return std::move(got).error();
  json::object facts{{"path", codec::text(path_of(call))}, {"size", got->bytes.size()}};
  if (const auto mime = image_type(got->bytes); !mime.empty()) {
    facts["mime_type"] = mime;
    co_return image_result(mime, got->bytes, std::move(facts));
  }
  if (!codec::is_utf8(got->bytes)) {
    const std::string uri = "cay://" + call.sandbox() + path_of(call);
    co_return blob_result(codec::sanitised_utf8(uri), got->bytes, std::move(facts));
  }
  const Part part = part_of(got->bytes, call.arguments.integer("first_line", 1),
                            call.arguments.integer("lines", kMostWholeFile));
  facts["content"] = codec::text(part.text);
  facts["first_line"] = part.first;
  facts["lines"] = part.lines;
  facts["total_lines"] = part.total;
  co_return text_result(part.text, std::move(facts));
}

Task<json::object> write_file(Call call) {
  std::string bytes = call.arguments.text("content");
  if (call.arguments.text("encoding") == "base64") {
    auto decoded = codec::from_base64(bytes);
    if (!decoded) co_return invalid("invalid_field", "content: must be base64");
    bytes = *std::move(decoded);
  }
  std::optional<std::uint32_t> mode;
  if (call.arguments.has("mode")) {
    mode = codec::mode_from(call.arguments.text("mode"));
    if (!mode) co_return invalid("invalid_field", "mode: must be octal: 0644");
  }
  const std::size_t size = bytes.size();
  auto info = co_await write_whole(call, std::move(bytes), mode);
  if (!info) co_return std::move(info).error();
  co_return text_result("Wrote " + std::to_string(size) + " bytes to " + path_of(call) + ".",
                        {{"file", codec::to_json(*info)}});
}

Task<json::object> edit_file(Call call) {
  ReplaceRequest request{.root = path_of(call),
                         .text = call.arguments.text("old_text"),
                         .replacement = call.arguments.text("new_text")};
  if (request.text.empty()) co_return invalid("invalid_field", "old_text: must not be empty");
  request.once = !call.arguments.flag("replace_all");
  request.one_file = true;
  note_file(call);
  auto done = co_await call.cay->file_changes().replace(call.who(), call.sandbox(),
                                                        std::move(request), as_of(call));
  if (!done) co_return std::move(done).error();
  json::object facts{{"path", codec::text(path_of(call))}, {"replaced", 0}, {"found", 0}};
  if (done->files.empty()) {
    co_return failed_result("old_text is not in " + path_of(call) +
                                ". Nothing was changed. Read the file, and copy old_text from it "
                                "exactly, with its spaces and line ends.",
                            std::move(facts));
  }
  const ReplacedFile& file = done->files.front();
  facts["found"] = file.count;
  if (file.error && file.error->reason == "text_not_unique") {
    co_return failed_result("old_text is " + std::to_string(file.count) + " times in " +
                                path_of(call) +
                                ". Nothing was changed. Give more of the lines around it, so that "
                                "it is there once, or set replace_all.",
                            std::move(facts));
  }
  if (file.error) co_return *file.error;
  facts["replaced"] = file.count;
  co_return text_result("Replaced " + std::to_string(file.count) + " in " + path_of(call) + ".",
                        std::move(facts));
}

Task<json::object> list_directory(Call call) {
  auto got =
      co_await call.cay->files().list(call.who(), call.sandbox(), path_of(call), as_of(call));
  if (!got) co_return std::move(got).error();
  co_return entries_result(*std::move(got), false);
}

Task<json::object> find_files(Call call) {
  const auto limit = static_cast<std::uint32_t>(call.arguments.integer("limit", kUsualMatches));
  auto got = co_await call.cay->files().glob(call.who(), call.sandbox(), path_of(call),
                                             call.arguments.text("pattern"), as_of(call), limit);
  if (!got) co_return std::move(got).error();
  co_return entries_result(std::move(got->matches), got->truncated);
}

Task<json::object> search_files(Call call) {
  const auto limit = static_cast<std::uint32_t>(call.arguments.integer("limit", kUsualMatches));
  auto got = co_await call.cay->files().grep(call.who(), call.sandbox(), path_of(call),
                                             call.arguments.text("text"),
                                             call.arguments.text("glob"), as_of(call), limit);
  if (!got) co_return std::move(got).error();
  json::array items;
  std::string text;
  for (const GrepMatch& match : got->matches) {
    items.emplace_back(codec::to_json(match));
    text += match.path + ":" + std::to_string(match.line) + ": " + match.text + "\n";
  }
  if (got->matches.empty()) text = "[nothing]";
  if (got->truncated) text += "[there is more]";
  co_return text_result(text, {{"matches", std::move(items)}, {"truncated", got->truncated}});
}

}  // namespace cay::api::mcp
