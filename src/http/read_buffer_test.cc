#include "http/read_buffer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cay::http {
namespace {

class ReadBufferTest : public ::testing::Test {
 protected:
  void read(std::string_view bytes) {
    const auto room = buffer.prepare(bytes.size());
    bytes.copy(static_cast<char*>(room.data()), bytes.size());
    buffer.commit(bytes.size());
  }
  std::string held() const {
    return {static_cast<const char*>(buffer.data().data()), buffer.size()};
  }
  // All of its memory: what is there, and behind it as much as it can hold without another place.
  std::string all() {
    const std::size_t rest = buffer.capacity() - buffer.size();
    const auto room = buffer.prepare(rest);
    return held() + std::string(static_cast<const char*>(room.data()), rest);
  }
  ReadBuffer buffer{4096};
};

TEST_F(ReadBufferTest, WhatIsTakenIsGone) {
  read("head: sk-live-0123456789 and more");
  EXPECT_NE(all().find("sk-live"), std::string::npos) << "the control";
  buffer.consume(24);
  EXPECT_EQ(held(), " and more");
  EXPECT_EQ(all().find("sk-live"), std::string::npos);
  read("!");
  EXPECT_EQ(held(), " and more!");
  buffer.clear();
  EXPECT_EQ(all(), std::string(buffer.capacity(), '\0'));
}

TEST_F(ReadBufferTest, WhatIsMovedToTheFrontLeavesNothingBehind) {
  read(std::string(400, 'a') + std::string(100, 's'));
  ASSERT_EQ(buffer.capacity(), 512U);
  buffer.consume(400);
  read(std::string(200, 'b'));
  ASSERT_EQ(buffer.capacity(), 512U) << "it was moved, not copied to another place";
  EXPECT_EQ(held(), std::string(100, 's') + std::string(200, 'b'));
  buffer.clear();
  EXPECT_EQ(all(), std::string(512, '\0'));
  // The old place and the new one overlap.
  read(std::string(100, 'a') + std::string(400, 's'));
  buffer.consume(100);
  read(std::string(50, 'b'));
  ASSERT_EQ(buffer.capacity(), 512U);
  EXPECT_EQ(all(), std::string(400, 's') + std::string(50, 'b') + std::string(62, '\0'));
}

TEST_F(ReadBufferTest, ItGrowsToItsMostAndNoFurther) {
  read(std::string(3000, 'a'));
  buffer.consume(1000);
  read(std::string(2096, 'b'));
  EXPECT_EQ(held(), std::string(2000, 'a') + std::string(2096, 'b'));
  EXPECT_EQ(buffer.capacity(), 4096U);
  EXPECT_THROW(buffer.prepare(1), std::length_error);
  buffer.consume(1);
  EXPECT_NO_THROW(buffer.prepare(1));
  buffer.consume(10'000);
  EXPECT_EQ(buffer.size(), 0U);
}

}  // namespace
}  // namespace cay::http
