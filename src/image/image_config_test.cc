#include "image/image_config.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

const std::string kId = "sha256:" + std::string(64, 'd');

TEST(ImageDescription, HasWhatProgramsRunWith) {
  const auto got = parse_image_config(
      R"({"os":"linux","architecture":"amd64","config":{"User":"app:users","WorkingDir":"/srv",
          "Env":["PATH=/bin:/usr/bin","A=b=c","broken"],"Entrypoint":["/init","-x"],"Cmd":["sh"],
          "Labels":{"k":"v"},"ExposedPorts":{"8080/tcp":{}}},
          "rootfs":{"type":"layers","diff_ids":[")" +
      kId + "\"]}}");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->config.run.user, "app:users");
  EXPECT_EQ(got->config.run.workdir, "/srv");
  EXPECT_EQ(got->config.run.env,
            (std::map<std::string, std::string>{{"PATH", "/bin:/usr/bin"}, {"A", "b=c"}}));
  EXPECT_EQ(got->config.entrypoint, (std::vector<std::string>{"/init", "-x"}));
  EXPECT_EQ(got->config.command, (std::vector<std::string>{"sh"}));
  EXPECT_EQ(got->config.labels, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(got->config.ports, (std::vector<std::string>{"8080/tcp"}));
  EXPECT_EQ(got->diff_ids, (std::vector<std::string>{kId}));
  const auto again = parse_image_config(write_image_config(*got));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->config, got->config);
  EXPECT_EQ(again->diff_ids, got->diff_ids);
  EXPECT_EQ(again->platform.text(), "linux/amd64");
}

TEST(ImageDescription, NullsAndAbsentMembersAreDefaults) {
  const auto got = parse_image_config(
      R"({"config":{"User":"","WorkingDir":"","Env":null,"Entrypoint":null,"Labels":null},
          "rootfs":{"diff_ids":[]}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->config, ImageConfig{});
}

TEST(ImageDescription, RefusesOthers) {
  const std::string wrong[] = {
      "",
      "{}",
      R"({"rootfs":{"diff_ids":["sha256:1"]}})",
      R"({"rootfs":{"diff_ids":[1]}})",
      R"({"config":{"Env":["A=\u0000"]},"rootfs":{"diff_ids":[]}})",
      R"({"config":{"User":")" + std::string(200'000, 'u') + R"("},"rootfs":{"diff_ids":[]}})"};
  for (const std::string& text : wrong) {
    const auto got = parse_image_config(text);
    ASSERT_FALSE(got) << text.substr(0, 100);
    EXPECT_EQ(got.error().reason, "bad_image");
  }
}

}  // namespace
}  // namespace cay::image
