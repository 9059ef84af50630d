#include "codec/wiped_json.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/fields.h"

namespace cay::codec {
namespace {

TEST(WipedJsonTest, ItReadsWhatParseObjectReads) {
  const std::string text = R"({"value":"sk-\u00e9\n)" + std::string(3000, 'x') +
                           R"(","hosts":["a.test","*.b.test"],"deep":{"n":[1,-2,3.5,null,true]}})";
  const auto plain = parse_object(text);
  auto wiped = parse_wiped_object(text);
  ASSERT_TRUE(plain && wiped);
  EXPECT_EQ(*plain, *wiped);
  Fields fields(*wiped);
  std::string value;
  EXPECT_TRUE(fields.read("value", value));
  EXPECT_TRUE(value.starts_with("sk-\xc3\xa9\n"));
  const Result<json::object> moved = std::move(wiped);
  EXPECT_EQ(*plain, *moved);
}

TEST(WipedJsonTest, ItRefusesWhatParseObjectRefusesInTheSameWords) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"),
                                  std::string(R"({"a":1} x)"), std::string("{\"a\":\"\xff\"}"),
                                  R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}"}) {
    const auto plain = parse_object(text), wiped = parse_wiped_object(text);
    ASSERT_FALSE(plain) << text;
    ASSERT_FALSE(wiped) << text;
    EXPECT_EQ(plain.error().message, wiped.error().message);
    EXPECT_EQ(plain.error().reason, wiped.error().reason);
    EXPECT_EQ(plain.error().code, wiped.error().code);
  }
}

}  // namespace
}  // namespace cay::codec
