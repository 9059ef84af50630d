#include "api/mcp/tools.h"

#include <algorithm>

#include "api/mcp/tool_limits.h"

namespace cay::api::mcp {
namespace {

constexpr std::int64_t kMostMegabytes = 1 << 24;
constexpr std::int64_t kMostSeconds = 86'400 * 365;
constexpr std::int64_t kMostPort = 65'535;
constexpr std::int64_t kMostRun = 86'400;  // seconds

Param sandbox() { return needed(text("sandbox", "Name or id of the sandbox")); }
Param path() { return needed(text("path", "Absolute path in the sandbox", kMostPath)); }
Param user() { return text("user", "User in the sandbox that does it (default: root)"); }
Param limit(std::string_view what) { return integer("limit", what, 1, kMostMatches); }

Param encoding() {
  Param out = text("encoding", "Encoding of content: utf-8 (default) or base64, for bytes");
  out.one_of = {"utf-8", "base64"};
  return out;
}

std::vector<Tool> sandbox_tools() {
  return {
      {.name = "create_sandbox",
       .title = "Create a sandbox",
       .description =
           "Creates an isolated Linux computer and returns its name. Programs in it run as root of "
           "that computer alone. Its files stay until it is deleted. It starts in well under a "
           "second, so create one for each task. A call that is cancelled leaves no sandbox.",
       .params = {text("name", "Name of the sandbox (default: one is made up)"),
                  text("snapshot", "Snapshot that it starts from (default: the host's default)"),
                  text("image", "Container image that it starts from instead: python:3.12"),
                  text("policy",
                       "What it may reach on the network: the name of a policy such as off, or "
                       "rules, one a line",
                       kMostPolicy),
                  integer("memory_mb", "Limit of its memory in MiB", 1, kMostMegabytes),
                  integer("disk_mb", "Limit of its disk in MiB", 1, kMostMegabytes),
                  number("cpus", "Limit of its processor time, in processors", 0, kMostCpus),
                  map("env", "Environment variables of all its commands"),
                  map("labels", "Labels, to find it again"),
                  integer("idle_ttl_s", "Stop it after so many idle seconds. 0: never", 0,
                          kMostSeconds),
                  integer("lifetime_s", "Delete it so many seconds after its creation. 0: never", 0,
                          kMostSeconds)},
       .right = Right::kManage,
       .takes_long = true,
       .function = create_sandbox},
      {.name = "list_sandboxes",
       .title = "List sandboxes",
       .description = "Lists the sandboxes that this key may see, the newest first.",
       .params = {text("name_contains", "Only those whose name contains this"),
                  integer("limit", "At most so many (default: 100)", 1, kMostListed)},
       .right = Right::kRead,
       .read_only = true,
       .function = list_sandboxes},
      {.name = "delete_sandbox",
       .title = "Delete a sandbox",
       .description = "Ends all programs of a sandbox and deletes it with its files.",
       .params = {sandbox()},
       .right = Right::kManage,
       .destructive = true,
       .function = delete_sandbox},
      {.name = "snapshot",
       .title = "Take a snapshot",
       .description =
           "Captures the disk of a sandbox under a name. create_sandbox can start from it. The "
           "memory of its programs is not captured.",
       .params = {sandbox(), needed(text("name", "NAME or NAME:TAG of the snapshot"))},
       .right = Right::kManage,
       .takes_long = true,
       .function = snapshot_sandbox},
      {.name = "fork",
       .title = "Fork a sandbox",
       .description =
           "Copies a sandbox with its disk as it is at this moment. The copies are ready at once. "
           "The memory of its programs is not copied.",
       .params = {sandbox(), texts("names", "Name of each copy"),
                  integer("count", "Number of copies with names made up (default: 1)", 1,
                          kMostForks)},
       .right = Right::kManage,
       .takes_long = true,
       .function = fork_sandbox},
      {.name = "url",
       .title = "Get the URL of a port",
       .description =
           "Makes a link to a port in a sandbox, where a program listens on 127.0.0.1 or 0.0.0.0. "
           "Whoever has the link reaches the port until it expires.",
       .params = {sandbox(), needed(integer("port", "TCP port in the sandbox", 1, kMostPort)),
                  integer("expires_in_s", "Seconds until the link expires (default: 3600)", 1,
                          kMostSeconds)},
       .right = Right::kUseOne,
       .function = make_url},
  };
}

std::vector<Tool> run_tools() {
  return {
      {.name = "run",
       .title = "Run a command",
       .description =
           "Runs a line of sh in a sandbox and returns its exit code and output. A program that is "
           "put in the background with & goes on after it. A call that is cancelled, or whose "
           "client leaves, ends the command and its children.",
       .params = {sandbox(), needed(text("command", "Line of sh", kMostLine)),
                  text("cwd", "Directory that it starts in", kMostPath),
                  map("env", "Environment variables, above those of the sandbox"), user(),
                  text("stdin", "Text for its standard input", kMostLine),
                  number("timeout_s", "Seconds until it is ended (default: 600). 0: none", 0,
                         kMostSeconds),
                  integer("max_output_bytes",
                          "Bytes of each stream that are returned, of longer output the beginning "
                          "and the end (default: 65536)",
                          0, kMostOutput)},
       .right = Right::kUseOne,
       .destructive = true,
       .takes_long = true,
       .function = run_command},
      {.name = "shell",
       .title = "Run a command in a shell that stays",
       .description =
           "Runs a line of bash in a shell that lives between calls: its working directory, "
           "variables, functions and background jobs stay. Returns the exit code, stdout, stderr "
           "and the working directory. What jobs of earlier calls wrote meanwhile is apart. There "
           "is no terminal. A call that is cancelled is interrupted, and the shell lives on.",
       .params = {sandbox(), text("command", "Line of bash, or several", kMostLine),
                  text("session", "Name of the shell, made at its first use (default: shell)"),
                  text("stdin", "Text for the standard input of this call", kMostLine),
                  number("timeout_s",
                         "Seconds until the call is interrupted, and killed if that does not end "
                         "it (default: 600). 0: none",
                         0, kMostRun),
                  integer("max_output_bytes",
                          "Bytes of each stream that are returned, of longer output the beginning "
                          "and the end (default: 65536)",
                          0, kMostOutput),
                  flag("restart", "Begin a new shell under this name first")},
       .right = Right::kUseOne,
       .destructive = true,
       .takes_long = true,
       .function = run_in_shell},
      {.name = "run_code",
       .title = "Run code",
       .description =
           "Runs a program that is given as text, in a fresh directory. Without a sandbox it runs "
           "in one of its own, which is deleted afterwards. Plots, and files in $CAY_OUTPUT_DIR, "
           "come back with the output.",
       .params = {text("sandbox", "Name or id of the sandbox (default: one for this run)"),
                  needed(
                      text("language", "python, java, javascript, cpp, go, ruby, bash and more")),
                  needed(text("code", "The program", kMostContent)),
                  texts("libraries", "Libraries, as the language's own manager names them"),
                  texts("args", "Arguments of the program"),
                  text("stdin", "Text for its standard input", kMostLine),
                  map("env", "Environment variables"),
                  text("cwd", "Directory that it starts in", kMostPath), user(),
                  number("timeout_s", "Seconds until it is ended (default: 60)", 0, kMostRun),
                  integer("max_output_bytes",
                          "Bytes of each stream that are returned (default: 65536)", 0,
                          kMostOutput)},
       .right = Right::kUseOne,
       .destructive = true,
       .takes_long = true,
       .function = run_code},
  };
}

std::vector<Tool> file_tools() {
  return {
      {.name = "read_file",
       .title = "Read a file",
       .description =
           "Returns a file of a sandbox: text as text, PNG, JPEG, GIF and WebP as an image, other "
           "bytes as a resource. Of a long text file, first_line and lines choose a part.",
       .params = {sandbox(), path(),
                  integer("first_line", "Line to begin with, from 1 (default: 1)", 1,
                          kMostWholeFile),
                  integer("lines", "At most so many lines (default: all)", 1, kMostWholeFile),
                  user()},
       .right = Right::kReadOne,
       .read_only = true,
       .function = read_file},
      {.name = "write_file",
       .title = "Write a file",
       .description =
           "Writes a file of a sandbox, and makes the directories above it. A file that is there "
           "is replaced.",
       .params = {sandbox(), path(), needed(text("content", "The whole content", kMostContent)),
                  encoding(), text("mode", "Octal mode of a new file (default: 0644)"), user()},
       .right = Right::kUseOne,
       .destructive = true,
       .function = write_file},
      {.name = "edit_file",
       .title = "Edit a file",
       .description =
           "Replaces a text in a file of a sandbox, at once and without touching the rest. It "
           "fails and changes nothing if old_text is not there, or if it is there several times "
           "without replace_all.",
       .params = {sandbox(), path(),
                  needed(text("old_text",
                              "Text that is there, exactly, with enough lines around it to be "
                              "there once",
                              kMostEdit)),
                  needed(text("new_text", "Text in its place", kMostEdit)),
                  flag("replace_all", "Replace each occurrence (default: false)"), user()},
       .right = Right::kUseOne,
       .destructive = true,
       .function = edit_file},
      {.name = "ls",
       .title = "List a directory",
       .description = "Lists the entries of a directory of a sandbox, with kind and size.",
       .params = {sandbox(), path(), user()},
       .right = Right::kReadOne,
       .read_only = true,
       .function = list_directory},
      {.name = "glob",
       .title = "Find files by name",
       .description = "Finds the files of a sandbox whose path matches a pattern such as **/*.py.",
       .params = {sandbox(), needed(text("pattern", "Pattern with *, ?, [..] and **", kMostPath)),
                  text("path", "Directory to search in (default: /)", kMostPath),
                  limit("At most so many files (default: 1000)"), user()},
       .right = Right::kReadOne,
       .read_only = true,
       .function = find_files},
      {.name = "grep",
       .title = "Find text in files",
       .description =
           "Finds the lines of files of a sandbox that contain a text. The text is taken as it is, "
           "and is no regular expression.",
       .params = {sandbox(), needed(text("text", "Text to find", kMostPath)),
                  text("path", "Directory to search in (default: /)", kMostPath),
                  text("glob", "Only files whose name matches this pattern", kMostPath),
                  limit("At most so many lines (default: 1000)"), user()},
       .right = Right::kReadOne,
       .read_only = true,
       .function = search_files},
  };
}

std::vector<Tool> all_tools() {
  std::vector<Tool> out = sandbox_tools();
  for (auto more : {run_tools(), file_tools()}) {
    for (Tool& tool : more) out.push_back(std::move(tool));
  }
  return out;
}

}  // namespace

const std::vector<Tool>& tools() {
  static const std::vector<Tool> kTools = all_tools();
  return kTools;
}

const Tool* find_tool(std::string_view name) {
  const auto found = std::ranges::find(tools(), name, &Tool::name);
  return found == tools().end() ? nullptr : &*found;
}

json::object to_json(const Tool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", schema_of(tool.params)},
          {"annotations", json::object{{"title", tool.title},
                                       {"readOnlyHint", tool.read_only},
                                       {"destructiveHint", tool.destructive},
                                       {"openWorldHint", false}}}};
}

}  // namespace cay::api::mcp
