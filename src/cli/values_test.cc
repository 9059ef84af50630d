#include "cli/values.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

TEST(ValuesTest, Sizes) {
  EXPECT_EQ(*parse_size("0"), 0u);
  EXPECT_EQ(*parse_size("512"), 512u);
  EXPECT_EQ(*parse_size("128MiB"), 128u << 20);
  EXPECT_EQ(*parse_size("128m"), 128u << 20);
  EXPECT_EQ(*parse_size("1.5GiB"), 3u << 29);
  EXPECT_EQ(*parse_size("2Gi"), 2u << 30);
  EXPECT_EQ(*parse_size("1Ti"), 1ull << 40);
  EXPECT_EQ(*parse_size("500MB"), 500'000'000u);
  for (const char* bad : {"", "MiB", "-1", "1 GiB", "1Q", "nan", "inf", "1e300g", "0x10"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(ValuesTest, FileSystemsInMemory) {
  EXPECT_EQ(*parse_tmpfs("/tmp"), (std::pair<std::string, std::uint64_t>("/tmp", 0)));
  EXPECT_EQ(parse_tmpfs("/a/b:size=1.5MiB")->second, 1572864U);
  for (const char* wrong : {"", "tmp", "/tmp:", "/tmp:rw", "/tmp:size=", "/tmp:size=0"}) {
    EXPECT_FALSE(parse_tmpfs(wrong)) << wrong;
  }
}

TEST(ValuesTest, Volumes) {
  EXPECT_EQ(*parse_volume("data:/a/b"), (sdk::VolumeMount{.volume = "data", .path = "/a/b"}));
  EXPECT_EQ(parse_volume("data:/a:rw")->path, "/a");
  EXPECT_TRUE(parse_volume("data:/a:ro")->read_only);
  EXPECT_TRUE(parse_volume("data:/a:shared")->shared);
  for (const char* wrong : {"", "data", "data:", "data:a", ":/a", "/a"}) {
    EXPECT_FALSE(parse_volume(wrong)) << wrong;
  }
}

TEST(ValuesTest, Durations) {
  EXPECT_EQ(*parse_duration("90"), 90);
  EXPECT_EQ(*parse_duration("1.5s"), 1.5);
  EXPECT_EQ(*parse_duration("10m"), 600);
  EXPECT_EQ(*parse_duration("250ms"), 0.25);
  for (const char* bad : {"", "s", "-1", "1y", "1h30"}) EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(ValuesTest, TimersAreTimesOrNever) {
  for (const char* never : {"never", "-1", "0"}) EXPECT_EQ(*parse_timer(never), 0) << never;
  EXPECT_EQ(*parse_timer("10m"), 600);
  EXPECT_EQ(*parse_timer("1.2s"), 2);
  EXPECT_EQ(*parse_timer("500ms"), 1) << "not 0, which is never";
  for (const char* wrong : {"", "-2", "-1s", "nev", "soon"}) {
    const auto got = parse_timer(wrong);
    ASSERT_FALSE(got) << wrong;
    EXPECT_NE(got.error().message.find("or never"), std::string::npos) << got.error().message;
  }
}

TEST(ValuesTest, Cpus) {
  EXPECT_EQ(*parse_cpus("2"), 2000u);
  EXPECT_EQ(*parse_cpus("0.5"), 500u);
  for (const char* bad : {"", "0", "0.0001", "-1", "two", "1e9"})
    EXPECT_FALSE(parse_cpus(bad)) << bad;
}

TEST(ValuesTest, Counts) {
  EXPECT_EQ(*parse_count("1"), 1u);
  EXPECT_EQ(*parse_count("4294967295"), 4294967295u);
  for (const char* bad : {"", "0", "-1", "1.5", "12x", "4294967296", "99999999999999999999"}) {
    const auto got = parse_count(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_NE(got.error().message.find("write it like 200"), std::string::npos) << bad;
  }
}

TEST(ValuesTest, CopyPaths) {
  auto inside = parse_copy_path("box:/app/x:y");
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->sandbox, "box");
  EXPECT_EQ(inside->path, "/app/x:y");
  EXPECT_EQ(parse_copy_path("box:app")->path, "/app");
  EXPECT_FALSE(parse_copy_path("./a:b")->sandbox.has_value());
  EXPECT_FALSE(parse_copy_path("/a:b")->sandbox.has_value());
  EXPECT_FALSE(parse_copy_path("-")->sandbox.has_value());
  for (const char* bad : {"", ":x", "box:"}) EXPECT_FALSE(parse_copy_path(bad)) << bad;
}

TEST(ValuesTest, Environment) {
  ::setenv("CAY_TEST_MINE", "here", 1);
  const auto got = parse_env({"A=", "B=c=d", "CAY_TEST_MINE", "CAY_TEST_NOT_SET"});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->size(), 3u);
  EXPECT_EQ(got->at("B"), "c=d");
  EXPECT_EQ(got->at("CAY_TEST_MINE"), "here");
  EXPECT_FALSE(parse_env({"=x"}));
}

TEST(ValuesTest, SignalsByNameAndNumber) {
  EXPECT_EQ(*parse_signal("TERM"), 15);
  EXPECT_EQ(*parse_signal("sigint"), 2);
  EXPECT_EQ(*parse_signal("9"), 9);
  for (const char* bad : {"", "-9", "65", "SIG", "TERMINATE"})
    EXPECT_FALSE(parse_signal(bad)) << bad;
}

TEST(ValuesTest, PairsOfPorts) {
  EXPECT_EQ(parse_ports("5432")->local, 5432);
  EXPECT_EQ(parse_ports("5432")->remote, 5432);
  EXPECT_EQ(parse_ports("15432:5432")->local, 15432);
  EXPECT_EQ(parse_ports("15432:5432")->remote, 5432);
  EXPECT_EQ(parse_ports("0:80")->local, 0);
  for (const char* bad :
       {"", "0", "65536", ":80", "80:", "a", "80:b", "1:2:3", "-1", " 80", "8 0"}) {
    EXPECT_FALSE(parse_ports(bad)) << bad;
  }
}

TEST(ValuesTest, HumanSizes) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(1023), "1023 B");
  EXPECT_EQ(human_size(2u << 30), "2 GiB");
  EXPECT_EQ(human_size(3u << 29), "1.5 GiB");
}

TEST(ValuesTest, NearestIsNearOrNothing) {
  const std::vector<std::string> known{"exec", "run", "create", "rm"};
  EXPECT_EQ(nearest("exce", known), "exec");
  EXPECT_EQ(nearest("creat", known), "create");
  EXPECT_EQ(nearest("xyzzy", known), "");
}

}  // namespace
}  // namespace cay::cli
