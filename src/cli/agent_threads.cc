// The threads of `cay agent`: list, show, export, remove, rewind.
#include <charconv>
#include <string>
#include <utility>

#include "agent/llm/message.h"
#include "cli/agent_actions.h"
#include "cli/agent_loop.h"
#include "cli/agent_session.h"
#include "cli/agent_text.h"
#include "cli/agent_text_face.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "codec/lenient.h"
#include "codec/time.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

json::object to_json(const agent::ThreadInfo& thread) {
  json::object out{{"id", thread.id},
                   {"state", thread.state},
                   {"title", codec::text(thread.title)},
                   {"events", thread.events},
                   {"usage", agent::to_json(thread.spent.usage)},
                   {"created_at", codec::rfc3339(thread.created_ms)},
                   {"updated_at", codec::rfc3339(thread.updated_ms)}};
  if (const auto cost = thread.spent.known_cost()) out["cost"] = *cost;
  return out;
}

// The sandboxes that were made for a thread, as provider and id.
std::vector<std::pair<std::string, std::string>> sandboxes_of(
    const std::vector<agent::ThreadEvent>& events) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const agent::ThreadEvent& event : events) {
    if (event.type != "sandbox_bound" || codec::string_at(event.data, "claim").empty()) continue;
    const std::string provider = codec::string_at(event.data, "provider"),
                      id = codec::string_at(event.data, "id");
    if (provider != "local") out.emplace_back(provider, id);
  }
  return out;
}

void remove_sandbox(AgentLoop& loop, const std::string& provider, std::string id) {
  auto made = client::value_or_raise(providers::make_provider(loop.executor(), provider));
  loop.wait(made->remove(std::move(id)));
}

}  // namespace

int agent_threads(Context& at, const AgentArgs&) {
  const auto threads = client::value_or_raise(open_threads()->list(false));
  if (at.json) {
    json::array out;
    for (const auto& thread : threads) out.push_back(to_json(thread));
    print(codec::write(out) + "\n");
    return kOk;
  }
  constexpr std::size_t kTitle = 60, kToTheSecond = 19;
  std::vector<Row> rows;
  for (const auto& thread : threads) {
    const auto cost = thread.spent.known_cost();
    rows.push_back({thread.id, codec::rfc3339(thread.updated_ms).substr(0, kToTheSecond) + "Z",
                    thread.state.empty() ? "-" : thread.state, std::to_string(thread.events),
                    grouped(thread.spent.tokens()), cost ? dollars(*cost) : "-",
                    cut_line(printable(thread.title), kTitle)});
  }
  print(table({"THREAD", "UPDATED", "STATE", "EVENTS", "TOKENS", "COST", "TASK"}, rows));
  return kOk;
}

int agent_show(Context& at, const AgentArgs& args) {
  if (at.json) return agent_export(at, args);
  const std::string& thread = args.words.front();
  const auto events = client::value_or_raise(open_threads()->events(thread, 0));
  const auto write = [](std::string_view text) { print(text); };
  TextFace face({.thread = thread, .answer = write, .note = write});
  for (const agent::ThreadEvent& event : events) {
    const json::value* value = event.data.if_contains("message");
    const bool is_user = event.type == "user_message" && !event.data.contains("note");
    if (is_user && value != nullptr && value->is_object()) {
      const auto message = agent::message_from_json(value->get_object());
      print("\n[" + std::to_string(event.seq) + "] > " +
            (message ? shown_lines(message->text()) : std::string()) + "\n");
    }
    face.on_event(thread, event);
  }
  return kOk;
}

int agent_export(Context&, const AgentArgs& args) {
  const auto log = open_threads();
  print(client::value_or_raise(agent::export_jsonl(*log, args.words.front())));
  return kOk;
}

int agent_remove(Context& at, const AgentArgs& args) {
  const auto log = open_threads();
  AgentLoop loop;
  for (const std::string& thread : args.words) {
    std::vector<std::string> all = client::value_or_raise(log->below(thread));
    all.push_back(thread);
    for (const std::string& each : all) {
      const auto events = client::value_or_raise(log->events(each, 0));
      for (const auto& [provider, id] : sandboxes_of(events)) remove_sandbox(loop, provider, id);
    }
    client::value_or_raise(log->remove(thread));
    if (!at.json) print(thread + "\n");
  }
  if (at.json) print(json_array({}));
  return kOk;
}

int agent_rewind(Context& at, const AgentArgs& args) {
  const std::string& number = args.words.at(1);
  std::uint64_t seq = 0;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), seq);
  if (failed != std::errc() || end != number.data() + number.size())
    throw ApiError(ErrorCode::kInvalidArgument, "bad_seq",
                   "'" + number + "' is no number of an event: cay agent show has them");
  AgentArgs opened = args;
  opened.thread = args.words.front();
  AgentSession session(at, opened);
  session.rewind(seq);
  return kOk;
}

}  // namespace cay::cli
