#include "agent/llm/endpoint.h"

#include <gtest/gtest.h>

#include <map>

namespace cay::agent {
namespace {

Result<Endpoint> find(const std::map<std::string, std::string>& environment,
                      const ModelSettings& settings = {}) {
  return endpoint_of(settings, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

std::string shown(const Result<Endpoint>& got) {
  if (!got) return got.error().reason;
  return got->name() + " " + got->base_url + " " + got->key;
}

TEST(EndpointTest, TheEnvironmentNamesTheVendor) {
  EXPECT_EQ(shown(find({{"OPENAI_API_KEY", "k\n"}}, {.model = "m"})),
            "openai:m https://api.openai.com/v1 k");
  EXPECT_EQ(shown(find({{"ANTHROPIC_API_KEY", "k"}}, {.model = "m"})),
            "anthropic:m https://api.anthropic.com k");
  const std::map<std::string, std::string> both{{"OPENAI_API_KEY", "o"},
                                                {"ANTHROPIC_API_KEY", "a"}};
  EXPECT_EQ(shown(find(both, {.model = "claude-x"})),
            "anthropic:claude-x https://api.anthropic.com a");
  EXPECT_EQ(shown(find(both, {.model = "m"})), "openai:m https://api.openai.com/v1 o");
  EXPECT_EQ(shown(find(both, {.model = "anthropic:m"})), "anthropic:m https://api.anthropic.com a");
  EXPECT_EQ(shown(find(both, {.model = "openai-responses:m"})),
            "openai-responses:m https://api.openai.com/v1 o");
}

TEST(EndpointTest, SettingsComeBeforeTheEnvironment) {
  const std::map<std::string, std::string> all{
      {"OPENAI_API_KEY", "k"}, {"OPENAI_BASE_URL", "http://host/v1/"}, {"OPENAI_MODEL", "m"}};
  EXPECT_EQ(shown(find(all)), "openai:m http://host/v1 k");
  EXPECT_EQ(shown(find(all, {.model = "qwen3:8b", .base_url = "https://other", .api_key = "x"})),
            "openai:qwen3:8b https://other x");
}

TEST(EndpointTest, AServerOnThisMachineNeedsNoKey) {
  for (const char* url : {"http://127.0.0.1:8000/v1", "http://localhost:11434/v1",
                          "http://[::1]:80", "http://127.9.9.9"})
    EXPECT_EQ(shown(find({{"OPENAI_BASE_URL", url}}, {.model = "m"})),
              "openai:m " + std::string(url) + " ");
  EXPECT_EQ(shown(find({{"OPENAI_BASE_URL", "http://localhost:1"}})),
            "openai: http://localhost:1 ");
  EXPECT_EQ(shown(find({{"OPENAI_BASE_URL", "http://10.0.0.1"}, {"OPENAI_API_KEY", "none"}},
                       {.model = "m"})),
            "openai:m http://10.0.0.1 ");
}

TEST(EndpointTest, TheErrorNamesTheMissingSetting) {
  auto none = find({});
  EXPECT_EQ(shown(none), "model_key_missing");
  EXPECT_NE(none.error().message.find("OPENAI_API_KEY"), std::string::npos);
  EXPECT_NE(none.error().message.find("OPENAI_BASE_URL"), std::string::npos);
  EXPECT_NE(none.error().message.find("ANTHROPIC_API_KEY"), std::string::npos);
  auto keyless = find({{"OPENAI_BASE_URL", "https://localhost.example.com"}}, {.model = "m"});
  EXPECT_EQ(shown(keyless), "model_key_missing");
  auto nameless = find({{"ANTHROPIC_API_KEY", "k"}});
  EXPECT_EQ(shown(nameless), "model_unknown");
  EXPECT_NE(nameless.error().message.find("ANTHROPIC_MODEL"), std::string::npos);
  auto broken = find({{"OPENAI_API_KEY", "se\ncret"}}, {.model = "m"});
  EXPECT_EQ(shown(broken), "model_key_refused");
  EXPECT_EQ(broken.error().message.find("cret"), std::string::npos);
}

}  // namespace
}  // namespace cay::agent
