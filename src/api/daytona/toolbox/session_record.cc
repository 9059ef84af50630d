#include "api/daytona/toolbox/session_record.h"

#include <algorithm>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/file_json.h"
#include "async/bytes.h"
#include "base/sha256.h"
#include "code/context_driver.h"
#include "core/ports/runtime.h"
#include "core/verbs/contexts.h"
#include "core/verbs/files.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kContextFront = "daytona-session-";
constexpr std::size_t kHashDigits = 32;
constexpr const char* kSessionVariable = "DAYTONA_SESSION_ID";
constexpr std::string_view kTextSuffix = ".sh";
constexpr std::uint32_t kOnlyOwner = 0600;
constexpr std::size_t kMostCommandText = 4 << 20;

std::string hash_of_session(std::string_view session) {
  return sha256_hex(session).substr(0, kHashDigits);
}

// A stop of the sandbox ended it. Other ends are of the session itself.
bool went_with_sandbox(const CommandEnd& end) {
  return (end.state == CommandState::kKilled && end.by == "sandbox stop") ||
         end.state == CommandState::kLost;
}

Error no_such_session() { return vendor_error(kProcessNotFound, "session not found"); }

}  // namespace

std::string context_of_session(std::string_view session) {
  return std::string(kContextFront) + hash_of_session(session);
}

std::string session_of_context(const Context& context) {
  if (!context.id.starts_with(kContextFront) || went_with_sandbox(context.command.end)) return {};
  const auto mark = code::from_mark(context.command.mark);
  if (!mark) return {};
  const auto id = mark->env.find(kSessionVariable);
  return id == mark->env.end() ? std::string() : id->second;
}

std::map<std::string, std::string> session_env(const std::string& session) {
  return {{kSessionVariable, session}};
}

std::string session_directory(std::string_view session) {
  return "/tmp/.daytona-sessions/" + hash_of_session(session);
}

std::string command_file(std::string_view session, std::string_view command) {
  return session_directory(session) + "/" + std::string(command) + std::string(kTextSuffix);
}

std::string input_pipe(std::string_view session, std::string_view command) {
  return session_directory(session) + "/" + std::string(command) + ".in";
}

Task<Context> find_session(core::Cay& cay, Box box, std::string session) {
  auto found = co_await cay.contexts().get(box.who, box.ref, context_of_session(session));
  if (!found && found.error().code == Code::kNotFound) co_return no_such_session();
  if (found && session_of_context(*found) != session) co_return no_such_session();
  co_return found;
}

Task<std::string> read_command(core::Cay& cay, Box box, std::string session, std::string command) {
  if (!is_uuid(command)) co_return vendor_error(kProcessNotFound, "command not found");
  auto file =
      co_await cay.files().read(box.who, box.ref, command_file(session, command), box.as(), {});
  if (!file && file.error().code == Code::kNotFound)
    co_return vendor_error(kProcessNotFound, "command not found");
  if (!file) co_return std::move(file).error();
  auto text = co_await read_all(std::move(file->bytes), kMostCommandText);
  co_return text;
}

Task<void> write_command(core::Cay& cay, Box box, std::string session, std::string command,
                         std::string text) {
  core::WriteOptions options;
  options.as = box.as();
  options.mode = kOnlyOwner;
  CAY_CO_TRY(const FileInfo written,
             co_await cay.files().write(box.who, box.ref, command_file(session, command),
                                        std::move(options), source_of(std::move(text))));
  static_cast<void>(written);
  co_return Result<void>();
}

Task<void> forget_command(core::Cay& cay, Box box, std::string session, std::string command) {
  auto removed = co_await cay.files().remove(box.who, box.ref, command_file(session, command),
                                             box.as(), false);
  co_return removed;
}

Task<std::vector<std::string>> commands_of_session(core::Cay& cay, Box box, std::string session) {
  auto files = co_await cay.files().list(box.who, box.ref, session_directory(session), box.as());
  std::vector<std::string> out;
  if (!files && files.error().code == Code::kNotFound) co_return out;
  if (!files) co_return std::move(files).error();
  std::ranges::sort(*files, {}, &FileInfo::mtime_ns);
  for (const FileInfo& file : *files) {
    std::string name = base_name(file.path);
    if (!name.ends_with(kTextSuffix)) continue;
    name.resize(name.size() - kTextSuffix.size());
    if (is_uuid(name)) out.push_back(std::move(name));
  }
  co_return out;
}

}  // namespace cay::api::daytona
