#include "agent/llm/sse.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

std::vector<SseEvent> read(const std::vector<std::string_view>& pieces) {
  SseReader reader;
  std::vector<SseEvent> out;
  for (const auto piece : pieces) EXPECT_TRUE(reader.feed(piece, out));
  reader.finish(out);
  return out;
}

TEST(SseTest, EveryLineEndAndEveryCutGiveTheSameEvents) {
  const std::vector<SseEvent> expected{{"", "one"}, {"add", "a\nb\n"}, {"", " spaced"}, {"", ""}};
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string text =
        "\xEF\xBB\xBF"
        "data: one|: a comment|id: 7|retry: 5||event: add|";
    text += "data:a|data: b|data|||other: x||event: dropped||data:  spaced||data:||";
    for (auto at = text.find('|'); at != std::string::npos; at = text.find('|', at + end.size()))
      text.replace(at, 1, end);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      const std::string_view all = text;
      ASSERT_EQ(read({all.substr(0, cut), all.substr(cut)}), expected) << cut;
    }
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < text.size(); ++i) bytes.emplace_back(&text[i], 1);
    EXPECT_EQ(read(bytes), expected);
  }
}

TEST(SseTest, TheEndOfTheStreamCompletesAnEvent) {
  EXPECT_EQ(read({"data: [DONE]"}), (std::vector<SseEvent>{{"", "[DONE]"}}));
  EXPECT_EQ(read({"data: a\n"}), (std::vector<SseEvent>{{"", "a"}}));
  EXPECT_TRUE(read({"", "\n\n"}).empty());
}

TEST(SseTest, AnEventHasABound) {
  SseReader reader(10);
  std::vector<SseEvent> out;
  EXPECT_TRUE(reader.feed("data: 1234\n\ndata: 12\n", out));
  auto fed = reader.feed("data: 34567", out);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().reason, "model_bad_answer");
  EXPECT_FALSE(reader.feed("\n\n", out));
  reader.finish(out);
  EXPECT_EQ(out, (std::vector<SseEvent>{{"", "1234"}}));
}

}  // namespace
}  // namespace cay::agent
