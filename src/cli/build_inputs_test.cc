#include "cli/build_inputs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"

namespace cay::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

struct BuildInputsTest : ::testing::Test {
  const cay::testing::TempDir temp;
  const fs::path root = temp.path();

  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
    return (root / name).string();
  }
};

TEST_F(BuildInputsTest, TheDockerfilesOwnIgnoreFileWins) {
  write("app/Dockerfile", "FROM a\n");
  write("app/.dockerignore", "of the directory");
  const std::string other = write("other/web.Dockerfile", "FROM b\n");
  const std::string app = (root / "app").string();
  EXPECT_EQ(read_build_inputs({}, app).dockerfile, "FROM a\n");
  EXPECT_EQ(read_build_inputs({}, app).ignore, "of the directory");
  EXPECT_EQ(read_build_inputs(other, app).dockerfile, "FROM b\n") << "outside of the context";
  EXPECT_EQ(read_build_inputs(other, app).ignore, "of the directory");
  write("other/web.Dockerfile.dockerignore", "of the file");
  EXPECT_EQ(read_build_inputs(other, app).ignore, "of the file");
  EXPECT_EQ(read_build_inputs(other, (root / "other").string()).directory,
            (root / "other").string());
}

TEST_F(BuildInputsTest, AMissingOrTooLongDockerfileIsNamed) {
  const auto message_of = [&](const std::string& file) -> std::string {
    try {
      read_build_inputs(file, root.string());
    } catch (const ApiError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_NE(message_of({}).find("/Dockerfile: No such file"), std::string::npos) << message_of({});
  const std::string longest = write("long", std::string((1 << 20) + 1, '#'));
  EXPECT_NE(message_of(longest).find("longer than 1 MiB"), std::string::npos);
}

TEST(SecretSourceTest, IsAFileOrAVariable) {
  EXPECT_EQ(*parse_secret_source("id=npm,src=/a/b"), (SecretSource{"npm", "/a/b", ""}));
  EXPECT_EQ(*parse_secret_source("type=file,source=x,id=npm"), (SecretSource{"npm", "x", ""}));
  EXPECT_EQ(*parse_secret_source("id=npm,env=TOKEN"), (SecretSource{"npm", "", "TOKEN"}));
  EXPECT_EQ(*parse_secret_source("type=env,id=npm,src=TOKEN"), (SecretSource{"npm", "", "TOKEN"}));
  EXPECT_EQ(*parse_secret_source("id=npm"), (SecretSource{"npm", "", ""}));
  for (const char* bad :
       {"", "npm", "src=/a", "id=", "id=a,src=b,env=c", "id=a,mode=1", "id=a,type=other"}) {
    EXPECT_FALSE(parse_secret_source(bad)) << bad;
  }
}

TEST_F(BuildInputsTest, ASecretIsReadFromItsPlace) {
  ::setenv("CAY_TEST_SECRET", "of the variable", 1);
  const std::string file = write("token", "of the file\n");
  EXPECT_EQ(*read_secret({"a", file, ""}), "of the file\n");
  EXPECT_EQ(*read_secret({"a", "", "CAY_TEST_SECRET"}), "of the variable");
  EXPECT_EQ(*read_secret({"CAY_TEST_SECRET", "", ""}), "of the variable");
  EXPECT_EQ(*read_secret({file, "", ""}), "of the file\n");
  EXPECT_EQ(read_secret({"a", "", "CAY_TEST_NONE"}).error().code, Code::kNotFound);
  EXPECT_EQ(read_secret({"a", file + "x", ""}).error().code, Code::kNotFound);
}

TEST(StdinTest, AnArchiveIsToldFromADockerfile) {
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_TRUE(begins_like_an_archive(tar));
  EXPECT_TRUE(begins_like_an_archive("\x1f\x8b\x08"sv));
  EXPECT_TRUE(begins_like_an_archive("\x28\xb5\x2f\xfd\x04"sv));
  EXPECT_FALSE(begins_like_an_archive("FROM python:3.12\n"));
  EXPECT_FALSE(begins_like_an_archive(""));
}

TEST(ImagesTest, ThoseThatTheTargetNeedsAreNamed) {
  const std::string file =
      "ARG VERSION=1\n"
      "FROM a.io/base:${VERSION} AS build\n"
      "COPY --from=b.io/tools /x /x\n"
      "RUN --mount=type=bind,from=c.io/more,target=/m true\n"
      "FROM d.io/other AS unused\n"
      "FROM scratch\n"
      "COPY --from=build /x /x\n"
      "COPY --from=0 /x /y\n";
  EXPECT_EQ(*images_named_by(file, {.arguments = {{"VERSION", "2"}}}),
            (std::vector<std::string>{"a.io/base:2", "b.io/tools", "c.io/more"}));
  EXPECT_EQ(*images_named_by(file, {.target = "unused"}), std::vector<std::string>{"d.io/other"});
  EXPECT_EQ(images_named_by("FORM a\n", {}).error().reason, "invalid_dockerfile");
}

TEST(ImagesTest, OnlyTheirRegistriesGetALogin) {
  std::vector<std::string> read;
  const auto login_of = [&read](const std::string& image) {
    read.push_back(image);
    return image == "public" ? sdk::RegistryLogin{} : sdk::RegistryLogin{.username = image};
  };
  const auto logins = logins_for({"a.io/x", "a.io/y", "public"}, login_of);
  EXPECT_EQ(read, (std::vector<std::string>{"a.io/x", "public"})) << "a registry is read once";
  ASSERT_EQ(logins.size(), 1U);
  EXPECT_EQ(logins.at("a.io").username, "a.io/x");
}

}  // namespace
}  // namespace cay::cli
