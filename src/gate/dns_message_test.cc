#include "gate/dns_message.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

std::string question(const std::string& name, std::uint16_t type = kDnsA, bool opt = false) {
  std::string out("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00", 11);
  out += static_cast<char>(opt ? 1 : 0);
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    out += static_cast<char>(end - at);
    out += name.substr(at, end - at);
    at = end + 1;
  }
  out += '\0';
  out += static_cast<char>(type >> 8);
  out += static_cast<char>(type & 0xff);
  out += std::string("\x00\x01", 2);
  if (opt) out += std::string("\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00", 11);
  return out;
}

unsigned byte(const std::string& text, std::size_t at) {
  return static_cast<unsigned char>(text.at(at));
}

TEST(DnsTest, ReadsAQuestion) {
  const auto got = parse_question(question("Www.Example.COM", kDnsAaaa, true));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->name, "www.example.com");
  EXPECT_TRUE(got->plain);
  EXPECT_EQ(got->type, kDnsAaaa);
  EXPECT_EQ(got->room, 1232U);
  EXPECT_TRUE(got->has_opt);
  EXPECT_EQ(parse_question(question("a"))->room, 512U);
}

TEST(DnsTest, ANameInDisguiseIsShownAsWhatItIs) {
  std::string asked = question("pypi-org");
  asked[17] = '.';  // one label with a dot in it
  const auto got = parse_question(asked);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->plain);
  EXPECT_EQ(got->name, "pypi\\046org");
  EXPECT_EQ(parse_question(question("a\", \"b\n\x1b\xe2"))->name,
            "a\\034\\044\\032\\034b\\010\\027\\226");
}

TEST(DnsTest, EveryCutOfAQuestionIsRefused) {
  const std::string whole = question("www.example.com");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_question(whole.substr(0, size))) << size;
}

TEST(DnsTest, RefusesPointersLongNamesAndAnswers) {
  std::string pointer = question("a");
  pointer[12] = '\xc0';
  EXPECT_FALSE(parse_question(pointer));
  std::string longest;
  for (int i = 0; i < 5; ++i) longest += std::string(i == 0 ? "" : ".") + std::string(60, 'a');
  EXPECT_FALSE(parse_question(question(longest)));
  std::string answer = question("a");
  answer[2] = '\x81';
  EXPECT_FALSE(parse_question(answer));
  std::string two = question("a");
  two[5] = 2;
  EXPECT_FALSE(parse_question(two));
}

TEST(DnsTest, StrangeNamesAreToldApart) {
  std::string odd = question("a.example");
  odd[13] = '.';  // a dot inside a label
  const auto got = parse_question(odd);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->plain);
}

TEST(DnsTest, AnswersWithTheFamilyAsked) {
  const auto asked = parse_question(question("a.test"));
  DnsAnswer answer;
  answer.addresses = {*IpAddress::parse("192.0.2.1"), *IpAddress::parse("2001:db8::1"),
                      *IpAddress::parse("192.0.2.2")};
  answer.ttl = 30;
  const std::string text = encode_answer(*asked, answer, 512);
  EXPECT_EQ(text.substr(0, 2), "\x12\x34");
  EXPECT_EQ(byte(text, 2) & 0x80U, 0x80U);
  EXPECT_EQ(byte(text, 3), 0x80U);
  EXPECT_EQ(byte(text, 7), 2U);
  EXPECT_EQ(text.size(), 12 + asked->wire.size() + 2 * 16);
  EXPECT_EQ(text.substr(text.size() - 4), std::string("\xc0\x00\x02\x02", 4));
}

TEST(DnsTest, WhatDoesNotFitSaysSo) {
  const auto asked = parse_question(question("a.test", kDnsAaaa));
  DnsAnswer answer;
  for (int i = 0; i < 30; ++i)
    answer.addresses.push_back(*IpAddress::parse(("2001:db8::" + std::to_string(i + 1)).c_str()));
  const std::string cut = encode_answer(*asked, answer, 512);
  EXPECT_EQ(byte(cut, 2) & 2U, 2U);
  EXPECT_EQ(byte(cut, 7), 0U);
  EXPECT_LE(cut.size(), 512U);
  EXPECT_EQ(byte(encode_answer(*asked, answer, 65535), 7), 30U);
}

TEST(DnsTest, ARefusalTellsWhy) {
  const auto asked = parse_question(question("a.test", kDnsA, true));
  DnsAnswer answer;
  answer.code = DnsCode::kNoName;
  answer.blocked = "policy packages";
  const std::string text = encode_answer(*asked, answer, 512);
  EXPECT_EQ(byte(text, 3) & 15U, 3U);
  EXPECT_NE(text.find("policy packages"), std::string::npos);
  const auto plain = parse_question(question("a.test"));
  EXPECT_EQ(encode_answer(*plain, answer, 512).find("policy"), std::string::npos);
}

}  // namespace
}  // namespace cay::gate
