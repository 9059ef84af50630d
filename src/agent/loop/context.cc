#include "agent/loop/context.h"

#include <algorithm>
#include <utility>

#include "codec/utf8.h"
#include "base/lines.h"

namespace cay::agent {
namespace {

constexpr std::uint64_t kUnknownContext = 170'000;
constexpr std::uint64_t kImageTokens = 1'500;
constexpr std::size_t kKeptMessages = 6;
constexpr std::size_t kCutArgument = 20;
constexpr std::size_t kPreviewLines = 5;
constexpr std::size_t kPreviewLine = 1'000;

std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, codec::previous_boundary(text, most)));
}

// Long strings of a call's arguments are cut. Arguments that are not JSON stay as they are.
std::string shortened_arguments(const std::string& arguments) {
  if (arguments.size() <= kLongArgument) return arguments;
  auto parsed = codec::parse_object(arguments);
  if (!parsed) return arguments;
  for (auto& member : *parsed) {
    auto* text = member.value().if_string();
    if (text == nullptr || text->size() <= kLongArgument) continue;
    const std::string_view whole(text->data(), text->size());
    member.value() = codec::json::string(cut(whole, kCutArgument) + "...(argument truncated)");
  }
  return codec::write(*parsed);
}

void clip_result(Message& message) {
  for (auto& block : message.blocks) {
    auto* text = std::get_if<Text>(&block);
    if (text == nullptr || text->text.size() <= kClippedResult) continue;
    const auto whole = text->text.size();
    text->text = cut(text->text, kClippedResult) + "\n... [cut: this result has " +
                 std::to_string(whole) +
                 " characters, too many for the conversation. Get a smaller part of it, for "
                 "example with read_file, offset and limit]";
  }
}

void leave_out_media(Message& message) {
  for (auto& block : message.blocks) {
    const auto* media = std::get_if<Media>(&block);
    if (media == nullptr) continue;
    block = Text{"[" + media->mime + " left out: this model cannot read it]"};
  }
}

std::string summary_text(const Compaction& compaction) {
  std::string out = "You are in the middle of a conversation that has been summarized.\n\n";
  if (!compaction.path.empty()) {
    out += "The full conversation history has been saved to " + compaction.path +
           " should you need to refer back to it for details.\n\n";
  }
  return out + "A condensed summary follows:\n\n<summary>\n" + compaction.summary + "\n</summary>";
}

std::string preview_message(const Entry& entry) {
  return "The user's message is large, so all of it was saved to " + entry.path +
         ". Read it from there by parts, with read_file, offset and limit. Here is a preview of "
         "its head and tail:\n\n" +
         preview_of(entry.message.text());
}

Message seen(const ThreadState& state, const Entry& entry, const ModelProfile& profile) {
  Message out = entry.message;
  if (!entry.path.empty()) {
    std::erase_if(out.blocks, [](const Block& one) { return std::holds_alternative<Text>(one); });
    out.blocks.insert(out.blocks.begin(), Text{preview_message(entry)});
  }
  if (entry.seq < state.arguments_before) {
    for (auto& call : out.calls) call.arguments = shortened_arguments(call.arguments);
  }
  if (out.role == Role::kTool && entry.seq < state.results_before) clip_result(out);
  if (!profile.sees_images) leave_out_media(out);
  return out;
}

std::uint64_t first_visible(const ThreadState& state) {
  return state.compaction ? state.compaction->before_seq : 0;
}

std::string numbered(std::size_t number, std::string_view line) {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), ' ');
  return digits + "  " + cut(line, kPreviewLine) + '\n';
}

}  // namespace

std::uint64_t estimate_tokens(const Message& message) {
  std::uint64_t characters = 16;
  std::uint64_t media = 0;
  for (const auto& block : message.blocks) {
    if (const auto* text = std::get_if<Text>(&block)) characters += text->text.size();
    if (const auto* thought = std::get_if<Thinking>(&block)) characters += thought->text.size();
    if (std::holds_alternative<Media>(block)) ++media;
  }
  for (const auto& call : message.calls) {
    characters += call.id.size() + call.name.size() + call.arguments.size();
  }
  return characters / 4 + media * kImageTokens;
}

std::uint64_t estimate_tokens(const std::vector<ToolSpec>& tools) {
  std::uint64_t characters = 0;
  for (const auto& tool : tools) {
    characters += tool.name.size() + tool.description.size() + codec::write(tool.parameters).size();
  }
  return characters / 4;
}

std::vector<Message> visible_messages(const ThreadState& state, const std::string& system_prompt,
                                      const ModelProfile& profile) {
  std::vector<Message> out;
  if (!system_prompt.empty()) out.push_back(Message::of(Role::kSystem, system_prompt));
  if (state.compaction) out.push_back(Message::of(Role::kUser, summary_text(*state.compaction)));
  for (const auto& entry : state.conversation) {
    if (entry.seq >= first_visible(state)) out.push_back(seen(state, entry, profile));
  }
  return out;
}

std::uint64_t request_tokens(const ThreadState& state, const std::string& system_prompt,
                             const ModelProfile& profile, const std::vector<ToolSpec>& tools) {
  std::uint64_t sum = 0;
  if (state.counted > 0) {
    sum = state.counted_tokens;
    for (std::size_t i = state.counted; i < state.conversation.size(); ++i) {
      sum += estimate_tokens(seen(state, state.conversation[i], profile));
    }
    return sum;
  }
  for (const auto& message : visible_messages(state, system_prompt, profile)) {
    sum += estimate_tokens(message);
  }
  return sum + estimate_tokens(tools);
}

std::uint64_t compaction_trigger(const ModelProfile& profile) {
  return profile.context_tokens == 0 ? kUnknownContext : profile.context_tokens * 85 / 100;
}

std::size_t result_limit(const ModelProfile& profile) {
  if (profile.context_tokens == 0) return kLargeResult;
  return std::min<std::size_t>(kLargeResult, profile.context_tokens);
}

std::uint64_t compaction_cut(const ThreadState& state, const ModelProfile& profile) {
  const std::uint64_t kept_tokens = profile.context_tokens / 10;
  std::uint64_t cut_at = 0;
  std::uint64_t tokens = 0;
  std::size_t messages = 0;
  const auto& entries = state.conversation;
  for (std::size_t i = entries.size(); i > 0;) {
    // One group: a message, or a message with the results of its calls.
    const auto seq = entries[i - 1].seq;
    if (seq < first_visible(state)) return cut_at;
    std::uint64_t group = 0;
    std::size_t count = 0;
    for (; i > 0 && entries[i - 1].seq == seq; --i, ++count) {
      group += estimate_tokens(seen(state, entries[i - 1], profile));
    }
    const bool full =
        kept_tokens > 0 ? tokens + group > kept_tokens : messages + count > kKeptMessages;
    if (full && cut_at != 0) return cut_at;
    cut_at = seq;
    tokens += group;
    messages += count;
  }
  return 0;  // all of it is new
}

bool has_long_arguments(const ThreadState& state, std::uint64_t before) {
  for (const auto& entry : state.conversation) {
    if (entry.seq < std::max(state.arguments_before, first_visible(state))) continue;
    if (entry.seq >= before) continue;
    for (const auto& call : entry.message.calls) {
      if (shortened_arguments(call.arguments).size() < call.arguments.size()) return true;
    }
  }
  return false;
}

std::string preview_of(std::string_view text) {
  const auto lines = lines_of(text);
  std::string out;
  if (lines.size() <= 2 * kPreviewLines) {
    for (std::size_t i = 0; i < lines.size(); ++i) out += numbered(i + 1, lines[i]);
    return out;
  }
  for (std::size_t i = 0; i < kPreviewLines; ++i) out += numbered(i + 1, lines[i]);
  out += "\n... [" + std::to_string(lines.size() - 2 * kPreviewLines) + " lines truncated] ...\n\n";
  for (std::size_t i = lines.size() - kPreviewLines; i < lines.size(); ++i) {
    out += numbered(i + 1, lines[i]);
  }
  return out;
}

std::string spilled_text(const std::string& call_id, const std::string& path,
                         std::string_view text) {
  return "Tool result too large, the result of this tool call " + call_id +
         " was saved in the filesystem at this path: " + path +
         "\n\nYou can read the result from the filesystem by using the read_file tool, but make "
         "sure to only read part of the result at a time.\n\nYou can do this by specifying an "
         "offset and limit in the read_file tool call. For example, to read the first 100 lines, "
         "you can use the read_file tool with offset=0 and limit=100.\n\nHere is a preview showing "
         "the head and tail of the result (lines of the form `... [N lines truncated] ...` "
         "indicate omitted lines in the middle of the content):\n\n" +
         preview_of(text);
}

std::string file_name_of(std::string call_id) {
  for (char& c : call_id) {
    if (c == '.' || c == '/' || c == '\\' || c == '\0') c = '_';
  }
  return call_id;
}

std::string transcript_of(const std::vector<Entry>& entries) {
  std::string out;
  for (const auto& entry : entries) {
    const auto& message = entry.message;
    switch (message.role) {
      case Role::kSystem: continue;
      case Role::kUser: out += "## User\n\n"; break;
      case Role::kAssistant: out += "## Assistant\n\n"; break;
      case Role::kTool: out += "## Result of " + message.tool + " (" + message.call_id + ")\n\n";
    }
    if (const auto text = message.text(); !text.empty()) out += text + "\n\n";
    for (const auto& block : message.blocks) {
      if (const auto* media = std::get_if<Media>(&block)) out += "[" + media->mime + "]\n\n";
    }
    for (const auto& call : message.calls) {
      out += "Call " + call.id + ": " + call.name + " " + call.arguments + "\n\n";
    }
  }
  return out;
}

}  // namespace cay::agent
