#include "codec/base64.h"

#include <gtest/gtest.h>

namespace cay::codec {
namespace {

TEST(Base64Test, VectorsOfTheRfc) {
  for (const auto& [plain, coded] : {std::pair{"", ""},
                                     {"f", "Zg=="},
                                     {"fo", "Zm8="},
                                     {"foo", "Zm9v"},
                                     {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64(plain), coded);
    EXPECT_EQ(from_base64(coded), plain);
  }
}

TEST(Base64Test, EveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(from_base64(base64(all)), all);
}

TEST(Base64Test, RefusesWhatIsNotBase64) {
  for (const auto* bad : {"Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "Zh==", "Zm 9", "Zm9\n", "_-=="}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace cay::codec
