#include "api/daytona/toolbox/lsp_server.h"

#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <utility>

#include "api/common/stdin_write.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/lsp_frames.h"
#include "async/deadline.h"
#include "base/sha256.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"

namespace cay::api::daytona {
namespace {

using namespace std::chrono_literals;

constexpr Millis kServerAnswers = 60s;
constexpr std::size_t kServerDigits = 32;
constexpr std::size_t kMostTurns = 1000;

std::vector<std::string> server_of(const std::string& language) {
  if (language == "python") return {"pylsp"};
  if (language == "typescript" || language == "javascript")
    return {"typescript-language-server", "--stdio"};
  return {};
}

const char* package_of(const std::string& language) {
  return language == "python" ? "`pip install python-lsp-server`"
                              : "`npm install -g typescript typescript-language-server`";
}

CommandId server_id(const LspPlace& place) {
  return CommandId("daytona-lsp-" +
                   sha256_hex(place.language + " " + place.project).substr(0, kServerDigits));
}

Error not_started() {
  return vendor_error(kNotInitialized, "LSP server is not initialized: start it first");
}

codec::json::object message_of(const std::string& method, codec::json::object params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

codec::json::object introduction(const LspPlace& place) {
  const std::string uri = "file://" + place.project;
  codec::json::array folders{
      codec::json::object{{"uri", codec::text(uri)}, {"name", codec::text(place.project)}}};
  const codec::json::object completion{
      {"completionItem", codec::json::object{{"snippetSupport", false}}}};
  return {{"processId", nullptr},
          {"clientInfo", codec::json::object{{"name", "cay"}}},
          {"rootUri", codec::text(uri)},
          {"rootPath", codec::text(place.project)},
          {"workspaceFolders", std::move(folders)},
          {"capabilities",
           codec::json::object{
               {"textDocument", codec::json::object{{"completion", completion},
                                                    {"documentSymbol", codec::json::object()}}},
               {"workspace", codec::json::object{{"symbol", codec::json::object()}}}}}};
}

// The response to a request of the server, which may require settings or register abilities.
std::optional<std::string> answer_to(const codec::json::object& message) {
  const auto* id = message.if_contains("id");
  if (id == nullptr || !message.contains("method")) return std::nullopt;
  codec::json::value result(nullptr);
  if (message.at("method") == codec::json::value("workspace/configuration"))
    result = codec::json::array{nullptr};
  return lsp_frame({{"jsonrpc", "2.0"}, {"id", *id}, {"result", std::move(result)}});
}

// Whether the server has no such method (JSON-RPC 2.0, section 5.1).
bool is_unknown_method(const codec::json::value& error) {
  constexpr std::int64_t kMethodNotFound = -32601;
  const auto* object = error.if_object();
  const auto* code = object == nullptr ? nullptr : object->if_contains("code");
  return code != nullptr && code->is_int64() && code->as_int64() == kMethodNotFound;
}

// Reads messages up to the answer to `id`, and answers the server's own requests meanwhile.
struct Conversation {
  core::Cay& cay;
  Box box;
  CommandId command;
  core::Reader reader;
  std::uint64_t* offset;

  Task<codec::json::object> until(std::string id) {
    LspFrames frames;
    std::uint64_t at = *offset;
    for (;;) {
      CAY_CO_TRY(const auto content, frames.next());
      if (content) {
        *offset = at - frames.rest();
        const auto message = codec::parse_object(*content);
        if (!message) continue;
        const auto* answered = message->if_contains("id");
        const bool is_request = message->contains("method");
        if (answered != nullptr && !is_request && *answered == codec::json::value(id))
          co_return *message;
        const auto answer = answer_to(*message);
        if (answer) {
          CAY_CO_CHECK(co_await write_whole_stdin(cay, box.who, box.ref, command, *answer, false));
        }
        continue;
      }
      CAY_CO_TRY(const auto event, co_await reader->next());
      if (std::holds_alternative<core::OutputEnd>(event)) {
        co_return vendor_error(kNotInitialized, "the language server has ended");
      }
      const auto* data = std::get_if<core::OutputData>(&event);
      if (data == nullptr || data->stream != Stream::kStdout) continue;
      frames.feed(data->bytes);
      at = data->offset + data->bytes.size();
    }
  }
};

}  // namespace

Task<std::shared_ptr<LspServers::Turn>> LspServers::turn_of(Box box, CommandId id) {
  const auto loop = co_await asio::this_coro::executor;
  if (turns_.size() > kMostTurns) turns_.clear();  // they are found again, from 0
  auto& turn = turns_[box.ref + "/" + id.get()];
  if (!turn) turn = std::make_shared<Turn>(loop);
  co_return turn;
}

Task<CommandId> LspServers::running(core::Cay& cay, Box box, LspPlace place) {
  const CommandId id = server_id(place);
  const auto found = co_await cay.commands().get(box.who, box.ref, id);
  if (!found && found.error().code != Code::kNotFound) co_return found.error();
  if (!found || found->end.state != CommandState::kRunning) co_return not_started();
  co_return id;
}

Task<codec::json::value> LspServers::ask(core::Cay& cay, Box box, CommandId id,
                                         std::shared_ptr<Turn> turn, std::string method,
                                         codec::json::object params) {
  const auto guard = co_await turn->busy.lock();
  CAY_CO_TRY(auto reader, co_await cay.commands().attach(box.who, box.ref, id,
                                                         core::OutputOffsets{.out = turn->offset}));
  const std::string request = new_uuid();
  codec::json::object message = message_of(method, std::move(params));
  message["id"] = request;
  CAY_CO_CHECK(co_await write_whole_stdin(cay, box.who, box.ref, id, lsp_frame(message), false));
  Conversation talk{cay, std::move(box), std::move(id), std::move(reader), &turn->offset};
  auto waiting = talk.until(request);
  CAY_CO_TRY(const auto answer,
             co_await with_deadline(std::move(waiting), kServerAnswers, "the language server"));
  const auto* error = answer.if_contains("error");
  if (error != nullptr) {
    const auto& word = is_unknown_method(*error) ? kUnprocessable : kBadRequest;
    co_return vendor_error(word, method + " failed: " + codec::write(*error));
  }
  const auto* result = answer.if_contains("result");
  co_return result == nullptr ? codec::json::value(nullptr) : *result;
}

Task<void> LspServers::start(core::Cay& cay, Box box, LspPlace place) {
  CommandSpec spec;
  spec.argv = server_of(place.language);
  if (spec.argv.empty())
    co_return vendor_error(kBadRequest, "unsupported language: " + place.language);
  const CommandId id = server_id(place);
  CAY_CO_TRY(const auto turn, co_await turn_of(box, id));
  const auto before = co_await cay.commands().get(box.who, box.ref, id);
  if (before && before->end.state == CommandState::kRunning) co_return Result<void>();
  if (before) {
    CAY_CO_CHECK(co_await cay.commands().forget(box.who, box.ref, id));
  }
  turn->offset = 0;
  spec.id = id;
  spec.run.workdir = place.project;
  const std::string program = spec.argv.front();
  auto made = co_await cay.commands().start(box.who, box.ref, std::move(spec));
  if (!made && made.error().reason == "command_not_found") {
    co_return vendor_error(kUnprocessable, "this sandbox has no " + program + ": " +
                                               package_of(place.language) +
                                               " installs it, or make the sandbox from an image "
                                               "that has it");
  }
  if (!made) co_return std::move(made).error();
  auto asked = co_await ask(cay, box, id, turn, "initialize", introduction(place));
  if (!asked) {
    const auto killed = co_await cay.commands().kill(box.who, box.ref, id, 0);
    static_cast<void>(killed);
    co_return std::move(asked).error();
  }
  auto told = co_await notify(cay, box, std::move(place), "initialized", {});
  co_return told;
}

Task<void> LspServers::stop(core::Cay& cay, Box box, LspPlace place) {
  const auto id = co_await running(cay, box, std::move(place));
  if (!id && id.error().reason == kNotInitialized.word) co_return Result<void>();
  if (!id) co_return id.error();
  turns_.erase(box.ref + "/" + id->get());
  auto killed = co_await cay.commands().kill(box.who, box.ref, *id, 0);
  co_return killed;
}

Task<codec::json::value> LspServers::request(core::Cay& cay, Box box, LspPlace place,
                                             std::string method, codec::json::object params) {
  CAY_CO_TRY(const CommandId id, co_await running(cay, box, std::move(place)));
  CAY_CO_TRY(const auto turn, co_await turn_of(box, id));
  auto answer = co_await ask(cay, std::move(box), id, turn, std::move(method), std::move(params));
  co_return answer;
}

Task<void> LspServers::notify(core::Cay& cay, Box box, LspPlace place, std::string method,
                              codec::json::object params) {
  CAY_CO_TRY(const CommandId id, co_await running(cay, box, std::move(place)));
  auto written = co_await write_whole_stdin(
      cay, box.who, box.ref, id, lsp_frame(message_of(method, std::move(params))), false);
  co_return written;
}

}  // namespace cay::api::daytona
