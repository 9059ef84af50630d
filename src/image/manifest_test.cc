#include "image/manifest.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

std::string digest(char c) { return "sha256:" + std::string(64, c); }

std::string descriptor(char c, const std::string& more = "",
                       const std::string& type = "application/vnd.oci.image.layer.v1.tar+gzip") {
  return R"({"mediaType":")" + type + R"(","size":12,"digest":")" + digest(c) + "\"" + more + "}";
}

std::string manifest(const std::string& layers) {
  return R"({"schemaVersion":2,"config":)" + descriptor('c') + R"(,"layers":[)" + layers + "]}";
}

TEST(Manifest, HasConfigurationAndLayersInOrder) {
  const auto got = parse_manifest(manifest(descriptor('1') + "," + descriptor('2')));
  ASSERT_TRUE(got) << got.error().message;
  const auto& found = std::get<Manifest>(*got);
  EXPECT_EQ(found.config.digest, digest('c'));
  ASSERT_EQ(found.layers.size(), 2U);
  EXPECT_EQ(found.layers[0].digest, digest('1'));
  EXPECT_EQ(found.layers[1].digest, digest('2'));
  EXPECT_EQ(found.layers[1].size, 12U);
}

TEST(Manifest, RefusesOthers) {
  std::string many;
  for (int i = 0; i < 1001; ++i) many += (i == 0 ? "" : ",") + descriptor('1');
  const std::string wrong[] = {"",
                               "[]",
                               "{}",
                               R"({"schemaVersion":1})",
                               manifest("1"),
                               manifest(many),
                               manifest(R"({"size":1,"digest":"sha256:12"})"),
                               manifest(R"({"digest":")" + digest('1') + "\"}"),
                               manifest(R"({"size":-1,"digest":")" + digest('1') + "\"}"),
                               manifest(R"({"size":1e300,"digest":")" + digest('1') + "\"}"),
                               manifest(descriptor('1', "", "application/vnd.example.wasm")),
                               std::string(kMostManifestBytes + 1, ' ')};
  for (const std::string& text : wrong) {
    const auto got = parse_manifest(text);
    ASSERT_FALSE(got) << text.substr(0, 200);
    EXPECT_EQ(got.error().reason, "bad_image");
  }
}

TEST(Index, GivesThePlatformsManifest) {
  const auto entry = [](char c, const std::string& platform) {
    return descriptor(c, R"(,"platform":)" + platform,
                      "application/vnd.oci.image.manifest.v1+json");
  };
  const auto got =
      parse_manifest(R"({"schemaVersion":2,"manifests":[)" +
                     entry('1', R"({"os":"linux","architecture":"arm64","variant":"v7"})") + "," +
                     entry('2', R"({"os":"linux","architecture":"arm64","variant":"v8"})") + "," +
                     entry('3', R"({"os":"linux","architecture":"amd64"})") + "," +
                     entry('4', R"({"os":"unknown","architecture":"unknown"})") + "]}");
  ASSERT_TRUE(got) << got.error().message;
  const auto& index = std::get<Index>(*got);
  EXPECT_EQ(choose(index, *parse_platform("linux/amd64"))->digest, digest('3'));
  EXPECT_EQ(choose(index, *parse_platform("linux/arm64/v8"))->digest, digest('2'));
  EXPECT_EQ(choose(index, *parse_platform("linux/arm64"))->digest, digest('1'));
  const auto none = choose(index, *parse_platform("linux/s390x"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, "image_not_found");
  EXPECT_NE(none.error().message.find("linux/amd64, linux/arm64/v7"), std::string::npos)
      << none.error().message;
  EXPECT_FALSE(parse_platform("linux"));
}

}  // namespace
}  // namespace cay::image
