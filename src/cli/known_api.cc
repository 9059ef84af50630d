#include "cli/known_api.h"

#include <algorithm>

namespace cay::cli {
namespace {

constexpr std::string_view kBearer = "Bearer ${SECRET}";

const std::vector<KnownApi>& all_known() {
  static const std::vector<KnownApi> kAll = {
      {"anthropic",
       {"api.anthropic.com"},
       {{"", "base_url", "api.anthropic.com", "x-api-key", "${SECRET}", "", {{"ANTHROPIC_BASE_URL", "${BASE_URL}"}, {"ANTHROPIC_API_KEY", "${TOKEN}"}}}}},
      // Its programs take no other URL; gh asks for nothing while it has no token.
      {"github",
       {"api.github.com", "github.com"},
       {{"", "headers", "api.github.com", "Authorization", kBearer, "", {{"GH_TOKEN", "${TOKEN}"}}},
        {"-git", "headers", "github.com", "Authorization", "", "x-access-token", {}}}},
      {"openai",
       {"api.openai.com"},
       {{"", "base_url", "api.openai.com", "Authorization", kBearer, "", {{"OPENAI_BASE_URL", "${BASE_URL}/v1"}, {"OPENAI_API_KEY", "${TOKEN}"}}}}},
  };
  return kAll;
}

}  // namespace

codec::json::array KnownApi::rules(const std::string& secret) const {
  namespace json = codec::json;
  json::array out;
  for (const Rule& one : all) {
    json::object header{{"name", one.header}};
    if (one.basic_user.empty()) {
      header["value"] = one.value;
    } else {
      header["basic_user"] = one.basic_user;
    }
    json::object env;
    for (const auto& [variable, value] : one.env) env[variable] = value;
    out.push_back(json::object{{"name", secret + std::string(one.suffix)},
                               {"secret", secret},
                               {"way", one.way},
                               {"hosts", json::array{one.host}},
                               {"headers", json::array{std::move(header)}},
                               {"env", std::move(env)}});
  }
  return out;
}

const KnownApi* known_api(std::string_view name) {
  const auto found = std::ranges::find(all_known(), name, &KnownApi::name);
  return found == all_known().end() ? nullptr : &*found;
}

std::string known_apis() {
  std::string out;
  for (const KnownApi& one : all_known()) out += (out.empty() ? "" : ", ") + std::string(one.name);
  return out;
}

}  // namespace cay::cli
