#include "cli/docker_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cay::cli {
namespace {

Result<std::string> no_helper(const std::string& name, const std::string& /*server*/) {
  ADD_FAILURE() << name << " must not be run";
  return std::string();
}

sdk::RegistryLogin login(std::string_view config, const std::string& host,
                         const CredentialHelper& helper = no_helper) {
  const auto parsed = DockerConfig::parse(config);
  EXPECT_TRUE(parsed) << config;
  const auto got = parsed->login_for(host, helper);
  EXPECT_TRUE(got) << host;
  return got ? *got : sdk::RegistryLogin{};
}

// "me:s:cret" and "hub:pass".
constexpr std::string_view kAuths =
    R"({"auths":{"https://index.docker.io/v1/":{"auth":"aHViOnBhc3M="},)"
    R"("localhost:5000":{"auth":"bWU6czpjcmV0"},)"
    R"("https://old.example.com/v2/":{"auth":"bWU6czpjcmV0"},)"
    R"("token.example.com":{"auth":"bWU6czpjcmV0","identitytoken":"long"}},"other":[1]})";

TEST(DockerConfigTest, ALoginIsFoundByItsRegistry) {
  const auto local = login(kAuths, "localhost:5000");
  EXPECT_EQ(local.username, "me");
  EXPECT_EQ(local.password, "s:cret") << "the first colon separates";
  EXPECT_EQ(login(kAuths, "docker.io").username, "hub");
  EXPECT_EQ(login(kAuths, "old.example.com").password, "s:cret");
  EXPECT_EQ(login(kAuths, "token.example.com").identity_token, "long");
  for (const char* none :
       {"localhost:5001", "localhost", "example.com", "index.docker.io.evil.com"})
    EXPECT_TRUE(login(kAuths, none).empty()) << none;
  EXPECT_TRUE(login("{}", "docker.io").empty());
}

TEST(DockerConfigTest, ARegistrysOwnHelperComesBeforeTheOneForAll) {
  std::string asked;
  const CredentialHelper helper = [&asked](const std::string& name, const std::string& server) {
    asked = name + " " + server;
    return Result<std::string>(R"({"ServerURL":"x","Username":"u","Secret":"p"})");
  };
  constexpr std::string_view kBoth = R"({"credsStore":"all","credHelpers":{"gcr.io":"gcloud"},)"
                                     R"("auths":{"localhost:5000":{"auth":"bWU6czpjcmV0"}}})";
  EXPECT_EQ(login(kBoth, "gcr.io", helper).username, "u");
  EXPECT_EQ(asked, "gcloud gcr.io");
  EXPECT_EQ(login(kBoth, "localhost:5000", helper).password, "p");
  EXPECT_EQ(asked, "all localhost:5000");
  login(kBoth, "docker.io", helper);
  EXPECT_EQ(asked, "all https://index.docker.io/v1/");
}

TEST(DockerConfigTest, AHelperGivesATokenOrNothing) {
  const auto printing = [](std::string text) -> CredentialHelper {
    return [text](const std::string&, const std::string&) { return Result<std::string>(text); };
  };
  constexpr std::string_view kStore = R"({"credsStore":"x"})";
  const auto token = login(kStore, "a.io", printing(R"({"Username":"<token>","Secret":"t"})"));
  EXPECT_EQ(token.identity_token, "t");
  EXPECT_TRUE(token.username.empty());
  EXPECT_TRUE(
      login(kStore, "a.io", printing("credentials not found in native keychain\n")).empty());
  const auto config = DockerConfig::parse(kStore);
  EXPECT_FALSE(config->login_for("a.io", printing("what?")));
}

TEST(DockerConfigTest, AFileThatIsNoneIsAnError) {
  for (const char* wrong :
       {"", "[]", "{", R"({"auths":{"a":{"auth":"?"}}})", R"({"auths":{"a":{"auth":"bWU="}}})"})
    EXPECT_FALSE(DockerConfig::parse(wrong)) << wrong;
  EXPECT_TRUE(DockerConfig::parse(R"({"auths":7,"credHelpers":null})")) << "the control";
}

TEST(DockerConfigTest, ARegistryIsReadFromTheName) {
  EXPECT_EQ(registry_of("python:3.12"), "docker.io");
  EXPECT_EQ(registry_of("library/python"), "docker.io");
  EXPECT_EQ(registry_of("index.docker.io/library/python"), "docker.io");
  EXPECT_EQ(registry_of("localhost/x"), "localhost");
  EXPECT_EQ(registry_of("localhost:5000/x:1"), "localhost:5000");
  EXPECT_EQ(registry_of("ghcr.io/a/b@sha256:" + std::string(64, '0')), "ghcr.io");
}

// The real way: a helper on the PATH, which gets the server on stdin.
TEST(DockerConfigTest, TheUsersHelperIsRun) {
  const std::filesystem::path home = std::filesystem::path(::testing::TempDir()) / "docker-config";
  std::filesystem::create_directories(home);
  const auto helper = home / "docker-credential-mine";
  std::ofstream(helper) << "#!/bin/sh\nread -r server\n[ \"$1\" = get ] || exit 3\n"
                           "printf '{\"Username\":\"%s\",\"Secret\":\"s\"}' \"$server\"\n";
  ::chmod(helper.c_str(), 0755);
  std::ofstream(home / "config.json") << R"({"credHelpers":{"a.io":"mine","b.io":"missing"}})";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (home.string() + ":" + path).c_str(), 1);
  ::setenv("DOCKER_CONFIG", home.c_str(), 1);
  EXPECT_EQ(login_of_user("a.io/x").username, "a.io");
  EXPECT_TRUE(login_of_user("b.io/x").empty()) << "one that cannot be run ends nothing";
  EXPECT_TRUE(login_of_user("python").empty());
  ::setenv("PATH", path.c_str(), 1);
  ::unsetenv("DOCKER_CONFIG");
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace cay::cli
