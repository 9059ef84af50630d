#include "vault/message_boundaries.h"

#include <gtest/gtest.h>

#include <string>

namespace cay::vault {
namespace {

using Kind = MessageBoundaries::Kind;

// The last boundary, however the text is cut.
std::size_t last_of(Kind kind, const std::string& text) {
  std::optional<std::uint64_t> last;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    MessageBoundaries boundaries(kind);
    std::string said, asides;
    for (std::size_t at = 0; at < text.size(); at += size)
      boundaries.read(std::string_view(text).substr(at, size), said, asides);
    EXPECT_EQ(boundaries.received(), text.size());
    EXPECT_EQ(last.value_or(boundaries.last()), boundaries.last()) << size;
    last = boundaries.last();
    if (kind != Kind::kMessages) EXPECT_EQ(said, text);
  }
  return static_cast<std::size_t>(last.value_or(0));
}

TEST(MessageBoundariesTest, AnEventEndsWithABlankLine) {
  const std::string one = "data: one", two = "data: two";
  for (const std::string& end : {"\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\r\n\n"}) {
    EXPECT_EQ(last_of(Kind::kEvents, one + end), one.size() + end.size()) << end;
    EXPECT_EQ(last_of(Kind::kEvents, one + end + two), one.size() + end.size()) << end;
    EXPECT_EQ(last_of(Kind::kEvents, one + end + two + end), 2 * (one.size() + end.size())) << end;
  }
  for (const std::string& end : {"\n", "\r\n", "\r", "\nid: 7\n", "\r\nid: 7\r\n"})
    EXPECT_EQ(last_of(Kind::kEvents, one + end), 0U) << end;
  EXPECT_EQ(last_of(Kind::kEvents, ": alive\n\n"), 10U - 1);
  EXPECT_EQ(last_of(Kind::kEvents, R"(data: {"a":"\n\n"})"), 0U) << "written, and no break";
}

TEST(MessageBoundariesTest, ALineEndsWithItsBreak) {
  EXPECT_EQ(last_of(Kind::kLines, "{\"a\":1}\n{\"b\":"), 8U);
  EXPECT_EQ(last_of(Kind::kLines, "\x1e{\"a\":1}\n\x1e"), 9U);
  EXPECT_EQ(last_of(Kind::kLines, "{\"a\":1}"), 0U);
}

TEST(MessageBoundariesTest, NothingElseHasAny) {
  EXPECT_EQ(last_of(Kind::kNone, "one\n\ntwo\r\n\r\nthree"), 0U);
  EXPECT_EQ(last_of(Kind::kMessages, "one\n\ntwo\n\n"), 0U) << "no frame";
  EXPECT_EQ(last_of(Kind::kMessages, std::string("\x81\x02hi\x81\x03", 6)), 4U);
}

Kind kind_of(int status, std::initializer_list<std::pair<const char*, const char*>> headers) {
  http::UpstreamAnswer answer;
  answer.status = status;
  for (const auto& [name, value] : headers) answer.headers.add(name, value);
  return boundaries_of(answer);
}

TEST(MessageBoundariesTest, AnAnswersHeadSaysWhichThereAre) {
  EXPECT_EQ(kind_of(200, {{"Content-Type", "text/event-stream"}}), Kind::kEvents);
  EXPECT_EQ(kind_of(200, {{"content-type", " Text/Event-Stream ; charset=utf-8"}}), Kind::kEvents);
  for (const char* type : {"application/x-ndjson", "application/jsonl", "application/json-seq",
                           "application/stream+json; charset=utf-8"})
    EXPECT_EQ(kind_of(200, {{"Content-Type", type}}), Kind::kLines) << type;
  for (const char* type :
       {"application/json", "text/plain", "application/octet-stream", "x text/event-stream", ""})
    EXPECT_EQ(kind_of(200, {{"Content-Type", type}}), Kind::kNone) << type;
  EXPECT_EQ(kind_of(200, {}), Kind::kNone);
  EXPECT_EQ(kind_of(200, {{"Content-Type", "text/event-stream"}, {"Content-Type", "text/plain"}}),
            Kind::kNone);
  EXPECT_EQ(kind_of(101, {{"Upgrade", "WebSocket"}}), Kind::kMessages);
  EXPECT_EQ(kind_of(101, {{"Upgrade", "h2c"}}), Kind::kNone);
  EXPECT_EQ(kind_of(101, {{"Content-Type", "text/event-stream"}}), Kind::kNone);
}

}  // namespace
}  // namespace cay::vault
