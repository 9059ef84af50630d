// ls, read_file, write_file, edit_file and delete.
#include <algorithm>
#include <utility>

#include "agent/tools/arguments.h"
#include "agent/tools/kit.h"
#include "agent/tools/tool_text.h"

namespace cay::agent {
namespace {

constexpr std::int64_t kDefaultLines = 100;
constexpr std::size_t kMostEdited = 32u << 20;

// deepagents' words for what is wrong with a path.
std::string path_word(const Error& error) {
  if (error.code == Code::kNotFound) return "path_not_found";
  if (error.reason == "not_a_directory") return "not_a_directory";
  if (error.code == Code::kPermissionDenied) return "permission_denied";
  return error.message;
}

std::string file_word(const Error& error) {
  if (error.code == Code::kNotFound) return "file_not_found";
  if (error.code == Code::kPermissionDenied) return "permission_denied";
  if (error.reason == "not_a_regular_file" || error.reason == "is_a_directory") {
    return "not_a_file";
  }
  return error.message;
}

std::string denied(std::string_view operation, const std::string& path) {
  return "permission denied for " + std::string(operation) + " on " + path;
}

bool may(const Kit& kit, FileOperation operation, const std::string& path) {
  return kit.permissions.verdict(operation, path) == FileVerdict::kAllow;
}

// The path of a call, normal and allowed. Failures are in `arguments`.
std::string path_of(const Kit& kit, Arguments& arguments, std::string_view name,
                    FileOperation operation) {
  auto path = normal_path(arguments.text(name), kit.base);
  if (!arguments.fault().empty()) return {};
  if (!path) {
    arguments.complain(path.error().message);
    return {};
  }
  if (!may(kit, operation, *path)) {
    arguments.complain(denied(operation == FileOperation::kRead ? "read" : "write", *path));
  }
  return *std::move(path);
}

asio::awaitable<Mutex::Guard> turn_to_write(KitPtr kit) {
  auto executor = co_await asio::this_coro::executor;
  if (!kit->writing) kit->writing.emplace(executor);
  auto guard = co_await kit->writing->lock();
  co_return guard;
}

Task<ToolResult> run_ls(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto path = path_of(*kit, arguments, "path", FileOperation::kRead);
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto found = co_await kit->backend->list(path);
  if (!found) {
    if (is_infrastructure(found.error())) co_return std::move(found).error();
    co_return refused("Path '" + path + "': " + path_word(found.error()));
  }
  std::vector<std::string> paths;
  for (auto& entry : found->entries) {
    if (may(*kit, FileOperation::kRead, entry.path)) paths.push_back(std::move(entry.path));
  }
  co_return ToolResult::of(path_list(paths));
}

// A file that is shown as it is.
Task<ToolResult> read_media(KitPtr kit, std::string path, std::string mime) {
  auto found = co_await kit->backend->stat(path);
  if (!found) {
    if (is_infrastructure(found.error())) co_return std::move(found).error();
    co_return refused("File '" + path + "': " + file_word(found.error()));
  }
  if (found->is_directory) co_return refused("File '" + path + "': not_a_file");
  const std::string size = std::to_string(found->size);
  const bool shown = mime.starts_with("image/") || mime == "application/pdf";
  if (!shown || !kit->options.sees_images) {
    co_return ToolResult::of("[" + mime + " of " + size +
                             " bytes: its content cannot be shown here. Use a command that "
                             "extracts what you need.]");
  }
  if (found->size > kit->options.max_media_bytes) {
    co_return refused("File '" + path + "': Binary file exceeds maximum preview size of " +
                      std::to_string(kit->options.max_media_bytes) + " bytes");
  }
  std::vector<std::string> paths{path};
  auto got = co_await kit->backend->download(std::move(paths));
  if (!got) co_return std::move(got).error();
  if (got->size() != 1 || !got->front().content) {
    co_return refused("File '" + path + "': " + (got->empty() ? "" : got->front().error));
  }
  ToolResult out;
  out.blocks.emplace_back(Media{std::move(mime), *std::move(got->front().content)});
  co_return out;
}

Task<ToolResult> run_read(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto path = path_of(*kit, arguments, "file_path", FileOperation::kRead);
  const std::int64_t offset = arguments.number_or("offset", 0);
  const std::int64_t limit = arguments.number_or("limit", kDefaultLines);
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  if (limit <= 0) {
    co_return ToolResult::of(
        "System reminder: no lines were read because `limit` was " + std::to_string(limit) +
        ". The file was not inspected and may have contents; retry with `limit` >= 1 to read it.");
  }
  const auto mime = media_type(path);
  if (!mime.empty()) {
    auto shown = co_await read_media(kit, path, std::string(mime));
    co_return shown;
  }
  const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(offset, 0));
  auto page = co_await kit->backend->read(path, first, static_cast<std::uint64_t>(limit));
  if (!page) {
    if (is_infrastructure(page.error())) co_return std::move(page).error();
    co_return refused("File '" + path + "': " + file_word(page.error()));
  }
  if (page->binary) {
    co_return refused("File '" + path + "': binary data of " + std::to_string(page->size) +
                      " bytes. Use a command that extracts what you need.");
  }
  co_return ToolResult::of(read_text(*page, offset));
}

Task<ToolResult> run_write(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto path = path_of(*kit, arguments, "file_path", FileOperation::kWrite);
  auto content = arguments.text("content");
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto turn = co_await turn_to_write(kit);
  std::vector<std::pair<std::string, std::string>> files{{path, std::move(content)}};
  auto written = co_await kit->backend->upload(std::move(files));
  if (!written) {
    if (is_infrastructure(written.error())) co_return std::move(written).error();
    co_return refused("Failed to write file '" + path + "': " + written.error().message);
  }
  const std::string word = written->size() == 1 ? written->front().error : "no answer";
  if (!word.empty()) co_return refused("Failed to write file '" + path + "': " + word);
  co_return ToolResult::of("Updated file " + path);
}

std::string edit_fault(const std::string& word, const std::string& path) {
  if (word == "file_not_found") return "File '" + path + "' not found";
  if (word == "permission_denied") return "Permission denied editing file '" + path + "'";
  if (word == "is_directory" || word == "invalid_path")
    return "'" + path + "' is not a regular file";
  return "File '" + path + "': " + word;
}

Task<ToolResult> run_edit(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto path = path_of(*kit, arguments, "file_path", FileOperation::kWrite);
  const auto old_text = arguments.text("old_string");
  const auto new_text = arguments.text("new_string");
  const bool all = arguments.flag_or("replace_all", false);
  if (!arguments.fault().empty()) co_return refused(arguments.fault());

  auto turn = co_await turn_to_write(kit);
  std::vector<std::string> paths{path};
  auto got = co_await kit->backend->download(std::move(paths));
  if (!got) co_return std::move(got).error();
  if (got->size() != 1 || !got->front().content) {
    co_return refused(edit_fault(got->empty() ? "no answer" : got->front().error, path));
  }
  if (got->front().content->size() > kMostEdited) {
    co_return refused("File '" + path + "' is too large to edit: use a command");
  }
  auto made = edited(*got->front().content, old_text, new_text, all, path);
  if (!made) co_return refused(made.error().message);
  std::vector<std::pair<std::string, std::string>> files{{path, std::move(made->content)}};
  auto written = co_await kit->backend->upload(std::move(files));
  if (!written) co_return std::move(written).error();
  const std::string word = written->size() == 1 ? written->front().error : "no answer";
  if (!word.empty()) co_return refused(edit_fault(word, path));
  co_return ToolResult::of("Successfully replaced " + std::to_string(made->count) +
                           " instance(s) of the string in '" + path + "'");
}

Task<ToolResult> run_delete(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto path = path_of(*kit, arguments, "file_path", FileOperation::kWrite);
  if (arguments.fault().empty() && path == "/") arguments.complain("'/' cannot be deleted");
  if (arguments.fault().empty() && (kit->permissions.may_deny_below(FileOperation::kWrite, path) ||
                                    kit->permissions.asks(FileOperation::kWrite, path, true))) {
    arguments.complain(denied("write", path));
  }
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto turn = co_await turn_to_write(kit);
  auto removed = co_await kit->backend->remove(path);
  if (!removed) {
    if (is_infrastructure(removed.error())) co_return std::move(removed).error();
    if (removed.error().code == Code::kNotFound) co_return refused("'" + path + "' not found");
    co_return ToolResult::failure("Error deleting file '" + path + "': " + removed.error().message);
  }
  co_return ToolResult::of("Deleted " + path);
}

}  // namespace

void add_file_tools(Tools& tools, const KitPtr& kit) {
  constexpr std::string_view kPath = "Absolute path of the file";
  tools.push_back(built_in(
      kit,
      {"ls",
       "Lists the files and directories in a directory of the sandbox, one level deep. Use "
       "it to find your way before you read or change files.",
       Schema().text("path", "Absolute path of the directory").take()},
      Repeat::kYes, run_ls));
  tools.push_back(built_in(
      kit,
      {"read_file",
       "Reads a file of the sandbox. Text comes with line numbers: the number and two spaces are "
       "no part of the file. It returns 100 lines unless you give `limit`. Page through a long "
       "file with `offset` and `limit`. Images and PDFs are shown. Read a file before "
       "you edit it.",
       Schema()
           .text("file_path", kPath)
           .number("offset", "Lines to skip at the beginning (default 0)")
           .number("limit", "The most lines to read (default 100)")
           .take()},
      Repeat::kYes, run_read));
  tools.push_back(built_in(
      kit,
      {"write_file",
       "Writes a whole file in the sandbox. It makes missing directories, and replaces a file that "
       "exists. To change a part of a file, use edit_file.",
       Schema().text("file_path", kPath).text("content", "The whole text of the file").take()},
      Repeat::kYes, run_write));
  tools.push_back(built_in(
      kit,
      {"edit_file",
       "Replaces a text in a file of the sandbox by another. `old_string` must be in the file "
       "exactly as you write it, with its indentation, and without the line numbers of read_file. "
       "It must be there once, unless `replace_all` is true. Add lines around it to make it "
       "unique.",
       Schema()
           .text("file_path", kPath)
           .text("old_string", "The text to replace")
           .text("new_string", "The text that replaces it")
           .flag("replace_all", "Replace every occurrence (default false)")
           .take()},
      Repeat::kNo, run_edit));
  tools.push_back(built_in(kit,
                           {"delete", "Deletes a file, or a directory with all that is in it.",
                            Schema().text("file_path", kPath).take()},
                           Repeat::kNo, run_delete));
}

}  // namespace cay::agent
