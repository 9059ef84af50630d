#include "cli/agent_session.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/agent_json_face.h"
#include "cli/agent_mcp.h"
#include "cli/agent_settings.h"
#include "cli/agent_text_face.h"
#include "cli/image.h"
#include "cli/output.h"
#include "codec/lenient.h"
#include "providers/environment.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

// The remedy of a failure that everybody meets in the first minute.
Error with_remedy(Error error) {
  if (error.reason == "connect_failed")
    error.message += ": start the daemon with `cay serve` or ./run, or set CAY_URL to where it is";
  if (error.reason == "model_key_missing" &&
      error.message.find("OPENAI_API_KEY") == std::string::npos)
    error.message +=
        ": set OPENAI_API_KEY (and OPENAI_BASE_URL for another server than OpenAI's) or "
        "ANTHROPIC_API_KEY";
  return error;
}

template <class T>
Task<T> explained(Task<T> task) {
  auto got = co_await std::move(task);
  if (!got) co_return with_remedy(std::move(got).error());
  co_return std::move(got);
}

// The provider of a thread's sandbox.
std::string provider_of(const std::vector<agent::ThreadEvent>& events) {
  for (const agent::ThreadEvent& event : events) {
    if (event.type == "thread_created") return codec::string_at(event.data, "provider");
  }
  return "cay";
}

// Two threads print lines, and none amid another.
void print_whole(std::string_view text) {
  static std::mutex printing;
  const std::scoped_lock lock(printing);
  print(text);
}

std::unique_ptr<agent::Observer> face_of(const std::string& thread, bool as_json, bool stream,
                                         const std::vector<agent::ThreadEvent>& former) {
  if (as_json)
    return std::make_unique<JsonFace>(JsonFaceOptions{.stream = stream, .write = print_whole});
  auto face = std::make_unique<TextFace>(
      TextFaceOptions{.thread = thread,
                      .answer = [](std::string_view text) { print(text); },
                      .note = [](std::string_view text) { write_all(STDERR_FILENO, text); },
                      .colour = wants_colour()});
  for (const agent::ThreadEvent& event : former) face->remember(event);
  return face;
}

// The text face has this of the event sandbox_bound, which a resumed thread does not repeat.
void warn_of_no_isolation(const std::string& thread) {
  const std::string message = "no sandbox: commands run on this machine, and nothing is isolated";
  print_error(message);
  json::object line{{"type", "warning"}, {"reason", "not_isolated"}, {"message", message}};
  line["thread"] = thread;
  print(codec::write(line) + "\n");
}

DestinationFace destination_face(bool as_json) {
  DestinationFace face = daemon_destinations();
  if (as_json) return json_destinations(std::move(face), print_whole);
  if (can_ask()) return terminal_destinations(std::move(face));
  return unattended_destinations(std::move(face));
}

}  // namespace

DestinationFace daemon_destinations() {
  return {.request = [client = sdk::Client()](
                         const std::string& method, const std::string& target,
                         const std::string& body) { return client.request(method, target, body); },
          .answer = {},
          .note = [](std::string_view text) { write_all(STDERR_FILENO, text); }};
}

bool wants_colour() {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

bool can_ask() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

Questioner terminal_questioner() {
  return {.read_line = [](const std::string& prompt) -> std::optional<std::string> {
            write_all(STDERR_FILENO, prompt);
            std::string line;
            if (!std::getline(std::cin, line)) return std::nullopt;
            return line;
          },
          .note = [](std::string_view text) { write_all(STDERR_FILENO, text); },
          .colour = wants_colour()};
}

std::unique_ptr<agent::ThreadLog> open_threads() {
  return client::value_or_raise(agent::ThreadLog::open(agent::default_state_path()));
}

Result<agent::AgentOptions> session_options(Context& at, const AgentArgs& args) {
  CAY_TRY(auto options, options_of(args));
  options.built_in.web.search_key = providers::first_set({"CAY_SEARCH_KEY"});
  if (!args.image.empty() && options.provider == "cay")
    options.sandbox.snapshot = snapshot_of(at, args.image).id;
  return options;
}

std::string resumed_thread(agent::ThreadLog& log, const AgentArgs& args) {
  if (!args.resumed.empty()) return args.resumed;
  const auto threads = client::value_or_raise(log.list(false));
  if (threads.empty())
    throw ApiError(ErrorCode::kNotFound, "thread_not_found",
                   "there is no thread yet: begin one with cay agent \"TASK\"");
  return threads.front().id;
}

AgentSession::AgentSession(Context& at, const AgentArgs& given)
    : json_(at.json), log_(open_threads()) {
  AgentArgs args = given;
  const std::string thread = args.resume ? resumed_thread(*log_, args) : args.thread;
  std::vector<agent::ThreadEvent> former;
  if (!thread.empty()) former = client::value_or_raise(log_->events(thread, 0));
  if (args.sandbox.empty()) args.sandbox = provider_of(former);
  provider_ = args.sandbox;
  auto options = client::value_or_raise(session_options(at, args));
  options.thread = thread;
  options.tools = loop_.wait(mcp_tools_of(loop_.executor(), args.mcp));
  agent_ = loop_.wait(explained(agent::Agent::open(loop_.executor(), std::move(options))));
  face_ = face_of(agent_->thread(), json_, args.stream, former);
  if (json_ && provider_ == "local") warn_of_no_isolation(agent_->thread());
  agent::Observer* shown = face_.get();
  if (args.ask_network) {
    if (!former.empty() || !args.id.empty())
      print_error("--ask-network: this sandbox keeps its policy; change it by cay net --policy");
    destinations_ = std::make_unique<DestinationWatch>(destination_face(json_));
    destinations_->add(sandbox());
    destination_feed_ = std::make_unique<DestinationFeed>(*face_, *destinations_);
    shown = destination_feed_.get();
  }
  feed_ = std::make_unique<AgentFeed>(*shown, *log_, agent_->thread(),
                                      former.empty() ? 0 : former.back().seq);
}

agent::RunResult AgentSession::run(std::string input) {
  return settled(driven(agent_->run(std::move(input), feed_.get())));
}

agent::RunResult AgentSession::resume() {
  if (!agent_->pending().empty() && can_ask() && !json_) {
    agent::RunResult waiting;
    waiting.state = agent::RunState::kWaiting;
    waiting.pending = agent_->pending();
    return settled(std::move(waiting));
  }
  return settled(driven(agent_->resume(feed_.get())));
}

agent::RunResult AgentSession::decide(const std::vector<std::string>& decisions) {
  auto decided = client::value_or_raise(decisions_of(decisions, agent_->pending()));
  return settled(driven(agent_->approve(std::move(decided), feed_.get())));
}

agent::RunResult AgentSession::settled(agent::RunResult result) {
  while (result.state == agent::RunState::kWaiting && can_ask() && !json_) {
    auto decisions = ask_decisions(result.pending, terminal_questioner());
    if (!decisions) break;
    result = driven(agent_->approve(*std::move(decisions), feed_.get()));
  }
  return result;
}

agent::RunResult AgentSession::driven(Task<agent::RunResult> task) {
  std::optional<DestinationWatch::Watching> watching;
  if (destinations_) watching.emplace(*destinations_);
  return loop_.wait(explained(std::move(task)), [this] { agent_->cancel(); });
}

std::string AgentSession::sandbox() const {
  auto* backend = agent_->backend();
  return backend == nullptr ? std::string() : backend->id();
}

std::vector<agent::ThreadEvent> AgentSession::events() const {
  return client::value_or_raise(log_->events(agent_->thread(), 0));
}

void AgentSession::rewind(std::uint64_t to_seq) { loop_.wait(agent_->rewind(to_seq)); }

void AgentSession::remove_sandbox() { loop_.wait(agent_->remove_sandbox()); }

}  // namespace cay::cli
