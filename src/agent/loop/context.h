// Context: the messages that a model sees of a thread, and their size in tokens. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/model.h"
#include "agent/threads/replay.h"

namespace cay::agent {

inline constexpr std::size_t kLargeResult = 80'000;   // characters of a result: goes to a file
inline constexpr std::size_t kLargeInput = 200'000;   // of a user's message
inline constexpr std::size_t kLongArgument = 2'000;   // of one argument in an old call
inline constexpr std::size_t kClippedResult = 4'000;  // of a result after an overflow

// About four characters each, and 1,500 tokens for an image.
std::uint64_t estimate_tokens(const Message& message);
std::uint64_t estimate_tokens(const std::vector<ToolSpec>& tools);

// The conversation as the model sees it: the system prompt, the summary of what was compacted, and
// the entries after it. Long arguments and results are cut where the state has it so.
std::vector<Message> visible_messages(const ThreadState& state, const std::string& system_prompt,
                                      const ModelProfile& profile);

// The estimated size of the next request. It begins with the model's own count, where there is one.
std::uint64_t request_tokens(const ThreadState& state, const std::string& system_prompt,
                             const ModelProfile& profile, const std::vector<ToolSpec>& tools);

// Compaction begins at this size: 85 % of the model's context, else 170,000 tokens.
std::uint64_t compaction_trigger(const ModelProfile& profile);
// Characters of a result that stay in the conversation: at most a quarter of the model's context.
std::size_t result_limit(const ModelProfile& profile);

// Entries with smaller numbers are to be compacted. The newest 10 % of the context stay, or the
// newest 6 messages where the context is unknown. 0: there is nothing to compact.
std::uint64_t compaction_cut(const ThreadState& state, const ModelProfile& profile);

// Whether a call before `before` has an argument that is still long.
bool has_long_arguments(const ThreadState& state, std::uint64_t before);

// A preview: the first and last five lines, numbered, each at most 1,000 characters.
std::string preview_of(std::string_view text);
// The text in place of a result that is in the file `path`.
std::string spilled_text(const std::string& call_id, const std::string& path,
                         std::string_view text);
// A name for a file, from a call's id.
std::string file_name_of(std::string call_id);

// The conversation as text, for a summary and for the history's file.
std::string transcript_of(const std::vector<Entry>& entries);

}  // namespace cay::agent
