#include "agent/llm/retry.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kThen = 784'111'777;  // the date of RFC 9110's example

std::optional<Millis> wanted(const std::vector<std::pair<std::string, std::string>>& headers) {
  http::Headers all;
  for (const auto& [name, value] : headers) all.add(name, value);
  return retry_after(all, kThen * 1000);
}

TEST(RetryTest, EveryFormOfRetryAfterIsRead) {
  EXPECT_EQ(wanted({{"Retry-After", "3"}}), 3000ms);
  EXPECT_EQ(wanted({{"retry-after", " 0.5 "}}), 500ms);
  EXPECT_EQ(wanted({{"Retry-After", "9"}, {"retry-after-ms", "20.5"}}), 21ms);
  EXPECT_EQ(wanted({{"Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"}}), 10s);
  EXPECT_EQ(wanted({{"Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"},
                    {"Date", "Sun, 06 Nov 1994 08:49:45 GMT"}}),
            2s);
  EXPECT_EQ(wanted({{"Retry-After", "Sun, 06 Nov 1994 08:00:00 GMT"}}), 0ms);
  EXPECT_EQ(wanted({{"Retry-After", "99999999999"}}), 24h);
  EXPECT_EQ(wanted({}), std::nullopt);
  for (const char* text : {"-1", "inf", "nan", "soon", "1e9", "", "Sun, 06 Nov 1994 25:00:00 GMT",
                           "Sun, 31 Feb 1994 08:49:37 GMT"})
    EXPECT_EQ(wanted({{"Retry-After", text}}), std::nullopt) << text;
}

TEST(RetryTest, DatesAreSecondsOfTheEpoch) {
  EXPECT_EQ(from_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), kThen);
  EXPECT_EQ(from_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  EXPECT_EQ(from_http_date("Thu, 29 Feb 2024 00:00:00 GMT"), 1'709'164'800);
  EXPECT_EQ(from_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), std::nullopt);
}

TEST(RetryTest, PausesDoubleAndKeepTheServersWish) {
  EXPECT_EQ(pause_before(2, std::nullopt, 0), 500ms);
  EXPECT_EQ(pause_before(3, std::nullopt, 0), 1000ms);
  EXPECT_EQ(pause_before(3, std::nullopt, 1), 750ms);
  EXPECT_EQ(pause_before(30, std::nullopt, 0), 8000ms);
  EXPECT_EQ(pause_before(2, 3000ms, 0), 3000ms);
  EXPECT_EQ(pause_before(2, 3000ms, 1), 3300ms);
  EXPECT_EQ(pause_before(2, 0ms, 1), 0ms);
}

TEST(RetryTest, TheServerKnowsWhetherARetryHelps) {
  http::Headers headers;
  EXPECT_EQ(should_retry(headers), std::nullopt);
  headers.set("X-Should-Retry", "false");
  EXPECT_EQ(should_retry(headers), false);
  headers.set("X-Should-Retry", "true");
  EXPECT_EQ(should_retry(headers), true);
}

}  // namespace
}  // namespace cay::agent
