#include "model/sealed_box.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

TEST(SealedBoxTest, OnlyTheOwnerOpensItAndOnlyForWhatItWasClosed) {
  const auto owner = new_box_keys();
  const auto other = new_box_keys();
  ASSERT_TRUE(owner && other);
  const auto box = close_box(owner->public_key, "openai", "sk-a-real-secret");
  ASSERT_TRUE(box);
  EXPECT_EQ(box->find("sk-a-real"), std::string::npos);
  const auto opened = open_box(owner->private_key.view(), "openai", *box);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->view(), "sk-a-real-secret");
  EXPECT_EQ(open_box(owner->private_key.view(), "other", *box).error().reason, "bad_envelope");
  EXPECT_EQ(open_box(other->private_key.view(), "openai", *box).error().reason, "bad_envelope");
}

TEST(SealedBoxTest, EachIsAnother) {
  const auto owner = new_box_keys();
  EXPECT_NE(*close_box(owner->public_key, "a", "the same"),
            *close_box(owner->public_key, "a", "the same"));
  EXPECT_NE(*encrypt(owner->private_key.view(), "a", "the same"),
            *encrypt(owner->private_key.view(), "a", "the same"));
}

TEST(SealedBoxTest, EveryChangedByteIsFound) {
  const auto owner = new_box_keys();
  const std::string box = *close_box(owner->public_key, "a", "value");
  for (std::size_t i = 0; i < box.size(); ++i) {
    std::string changed = box;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    // The highest bit of an X25519 key counts for nothing; every other one does.
    EXPECT_FALSE(open_box(owner->private_key.view(), "a", changed)) << i;
  }
  EXPECT_FALSE(open_box(owner->private_key.view(), "a", box.substr(0, box.size() - 1)));
  EXPECT_FALSE(open_box(owner->private_key.view(), "a", ""));
  EXPECT_FALSE(open_box(owner->private_key.view(), "a", std::string(80, '\0')))
      << "a point of small order";
  EXPECT_FALSE(close_box("short", "a", "value"));
}

TEST(SealedBoxTest, WipedBytesAreGoneFromTheirMemory) {
  Wiped bytes(std::string(64, 'x'));
  const char* where = bytes.view().data();
  bytes.wipe();
  EXPECT_TRUE(bytes.view().empty());
  EXPECT_EQ(std::string(where, 64).find('x'), std::string::npos);
  Wiped one(std::string(64, 'y'));
  const char* old = one.view().data();
  Wiped two(std::move(one));
  EXPECT_EQ(two.view().size(), 64U);
  two = Wiped("z");
  EXPECT_EQ(two.view(), "z");
  static_cast<void>(old);
}

}  // namespace
}  // namespace cay
