#include "agent/loop/context.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

ThreadState with_messages(std::size_t count, std::size_t size) {
  ThreadState state;
  for (std::size_t i = 0; i < count; ++i) {
    const auto role = i % 2 == 0 ? Role::kUser : Role::kAssistant;
    state.conversation.push_back({i + 1, Message::of(role, std::string(size, 'x')), {}});
  }
  return state;
}

TEST(ContextTest, TheNewestTenPercentStay) {
  const auto state = with_messages(20, 400);  // 104 tokens each
  ModelProfile profile;
  profile.context_tokens = 4'000;
  EXPECT_EQ(compaction_cut(state, profile), 18U) << "400 tokens: the last three";
  profile.context_tokens = 0;
  EXPECT_EQ(compaction_cut(state, profile), 15U) << "the last six messages";
  EXPECT_EQ(compaction_cut(with_messages(6, 400), profile), 0U);
  EXPECT_EQ(compaction_trigger(profile), 170'000U);
}

TEST(ContextTest, TheModelsOwnCountIsTheBase) {
  auto state = with_messages(4, 400);
  const auto estimated = request_tokens(state, "", {}, {});
  EXPECT_EQ(estimated, 4U * 104);
  state.counted = 2;
  state.counted_tokens = 1'000;
  EXPECT_EQ(request_tokens(state, "", {}, {}), 1'000U + 2 * 104);
}

TEST(ContextTest, LongArgumentsOfOldCallsAreCut) {
  ThreadState state;
  auto message = Message::of(Role::kAssistant, "");
  message.calls.push_back(
      {"c", "write_file", R"({"file_path":"/a","content":")" + std::string(3'000, 'y') + R"("})"});
  state.conversation.push_back({7, message, {}});
  EXPECT_TRUE(has_long_arguments(state, 8));
  EXPECT_FALSE(has_long_arguments(state, 7));
  state.arguments_before = 8;
  const auto seen = visible_messages(state, "", {});
  EXPECT_EQ(seen[0].calls[0].arguments, R"({"file_path":"/a","content":")" + std::string(20, 'y') +
                                            R"x(...(argument truncated)"})x");
  EXPECT_FALSE(has_long_arguments(state, 8));
}

TEST(ContextTest, APreviewHasTheHeadAndTheTail) {
  std::string text;
  for (int i = 1; i <= 20; ++i) text += "line " + std::to_string(i) + '\n';
  const auto preview = preview_of(text);
  EXPECT_TRUE(preview.starts_with("     1  line 1\n")) << preview;
  EXPECT_NE(preview.find("\n... [10 lines truncated] ...\n"), std::string::npos);
  EXPECT_TRUE(preview.ends_with("    20  line 20\n"));
  EXPECT_EQ(preview_of(std::string(5'000, 'z')).size(), 8U + 1'000 + 1);
}

TEST(ContextTest, AModelWithoutEyesReadsThatAnImageIsMissing) {
  ThreadState state;
  Message message = Message::of(Role::kUser, "see");
  message.blocks.emplace_back(Media{"image/png", "bytes"});
  state.conversation.push_back({1, message, {}});
  ModelProfile blind;
  blind.sees_images = false;
  const auto seen = visible_messages(state, "", blind);
  EXPECT_EQ(std::get<Text>(seen[0].blocks[1]).text,
            "[image/png left out: this model cannot read it]");
}

}  // namespace
}  // namespace cay::agent
