#include "code/code_json.h"

#include <gtest/gtest.h>

namespace cay::code {
namespace {

std::string complaint(std::string_view text) {
  const auto body = *codec::parse_object(text);
  codec::Fields fields(body);
  RunRequest request;
  read_request(fields, request);
  fields.refuse_unknown();
  const auto good = fields.first_error();
  return good ? "" : good.error().message;
}

TEST(CodeJsonTest, ReadsARequest) {
  const auto body = *codec::parse_object(
      R"({"language":"py","code":"x","stdin_base64":"AAE=","args":["a"],"libraries":["numpy"],)"
      R"("env":{"A":"1"},"cwd":"/w","user":"me","timeout_s":1.5,"max_output_bytes":10,)"
      R"("command_id":"c1"})");
  codec::Fields fields(body);
  RunRequest got;
  read_request(fields, got);
  fields.refuse_unknown();
  ASSERT_TRUE(fields.first_error());
  EXPECT_EQ(got.language, "py");
  EXPECT_EQ(got.code, "x");
  EXPECT_EQ(got.stdin_bytes, std::string("\0\1", 2));
  EXPECT_EQ(got.args, std::vector<std::string>{"a"});
  EXPECT_EQ(got.libraries, std::vector<std::string>{"numpy"});
  EXPECT_EQ(got.run.env.at("A"), "1");
  EXPECT_EQ(got.run.workdir, "/w");
  EXPECT_EQ(got.run.user, "me");
  EXPECT_EQ(got.timeout_ms, 1500);
  EXPECT_EQ(got.max_output_bytes, 10U);
  EXPECT_EQ(got.command_id.get(), "c1");
}

TEST(CodeJsonTest, ComplainsOfWhatIsWrong) {
  EXPECT_EQ(complaint(R"({"language":"py","code":"x"})"), "");
  EXPECT_EQ(complaint(R"({"code":"x"})").find("language: is needed: one of python"), 0U);
  EXPECT_EQ(complaint(R"({"language":"py"})"), "code: is needed");
  EXPECT_NE(complaint(R"({"language":"py","code":"x","stdin":"a","stdin_base64":"AAE="})"), "");
  EXPECT_NE(complaint(R"({"language":"py","code":"x","timeout_s":0})"), "");
  EXPECT_NE(complaint(R"({"language":"py","code":"x","args":["a\u0000b"]})"), "");
  EXPECT_NE(complaint(R"({"language":"py","code":"x","lang":"py"})"), "");
  EXPECT_NE(complaint(R"({"language":"py","code":"x","command_id":"../x"})"), "");
}

// A program may write any bytes, and the answer is valid JSON all the same.
TEST(CodeJsonTest, AResultOfAnyBytesIsValid) {
  RunResult result;
  result.language = find_language("python");
  result.command.end.state = CommandState::kExited;
  result.output.out = "\xff\xfe";
  result.artifacts.push_back({.name = "\xff.png", .mime = "image/png", .bytes = "\x89PNG"});
  const auto json = to_json(result);
  EXPECT_EQ(json.at("stdout_base64").as_string(), "//4=");
  EXPECT_FALSE(json.contains("stdout"));
  const auto& artifact = json.at("artifacts").as_array().at(0).as_object();
  EXPECT_EQ(artifact.at("content_base64").as_string(), "iVBORw==");
  EXPECT_TRUE(codec::parse_object(codec::write(json)));
}

}  // namespace
}  // namespace cay::code
