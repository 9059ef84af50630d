#include "cli/known_api.h"

#include <algorithm>

namespace cay::cli {
namespace {

constexpr std::string_view kBearer = "Bearer ${SECRET}";

constexpr std::string_view kAnthropic = "api.anthropic.com", kGithub = "api.github.com",
                           kGithubGit = "github.com", kOpenai = "api.openai.com";

const std::vector<KnownApi>& all_known() {
  static const std::vector<KnownApi> kAll = {
      {"anthropic",
       {std::string(kAnthropic)},
       {{"",
         "base_url",
         {kAnthropic},
         "x-api-key",
         "${SECRET}",
         "",
         {{"ANTHROPIC_BASE_URL", "${BASE_URL}"}, {"ANTHROPIC_API_KEY", "${TOKEN}"}}},
        {"",
         "headers",
         {kAnthropic},
         "x-api-key",
         "${SECRET}",
         "",
         {{"ANTHROPIC_API_KEY", "${TOKEN}"}}},
        // Its SDK writes the key in Authorization, too.
        {"", "placeholder", {kAnthropic}, "", "", "", {{"ANTHROPIC_API_KEY", "${TOKEN}"}}}}},
      // Its programs take no other URL, and gh sends nothing while it has no token. One stand-in
      // serves both hosts.
      {"github",
       {std::string(kGithub), std::string(kGithubGit)},
       {{"", "headers", {kGithub}, "Authorization", kBearer, "", {{"GH_TOKEN", "${TOKEN}"}}},
        {"-git", "headers", {kGithubGit}, "Authorization", "", "x-access-token", {}},
        {"",
         "placeholder",
         {kGithub, kGithubGit},
         "Authorization",
         "",
         "",
         {{"GH_TOKEN", "${TOKEN}"}}}}},
      {"openai",
       {std::string(kOpenai)},
       {{"",
         "base_url",
         {kOpenai},
         "Authorization",
         kBearer,
         "",
         {{"OPENAI_BASE_URL", "${BASE_URL}/v1"}, {"OPENAI_API_KEY", "${TOKEN}"}}},
        {"", "headers", {kOpenai}, "Authorization", kBearer, "", {{"OPENAI_API_KEY", "${TOKEN}"}}},
        {"", "placeholder", {kOpenai}, "Authorization", "", "", {{"OPENAI_API_KEY", "${TOKEN}"}}}}},
  };
  return kAll;
}

}  // namespace

codec::json::array KnownApi::rules(const std::string& secret, std::string_view way) const {
  namespace json = codec::json;
  json::array out;
  for (const Rule& one : all) {
    if (one.way != (way.empty() ? all.front().way : way)) continue;
    json::array sent_to;
    for (const std::string_view host : one.hosts) sent_to.emplace_back(host);
    json::array headers;
    json::object header{{"name", one.header}};
    if (!one.value.empty()) header["value"] = one.value;
    if (!one.basic_user.empty()) header["basic_user"] = one.basic_user;
    if (!one.header.empty()) headers.push_back(std::move(header));
    json::object env;
    for (const auto& [variable, value] : one.env) env[variable] = value;
    out.push_back(json::object{{"name", secret + std::string(one.suffix)},
                               {"secret", secret},
                               {"way", one.way},
                               {"hosts", std::move(sent_to)},
                               {"headers", std::move(headers)},
                               {"env", std::move(env)}});
  }
  return out;
}

std::string KnownApi::ways() const {
  std::string out;
  std::string_view last;
  for (const Rule& one : all) {
    if (one.way != last) out += (out.empty() ? "" : ", ") + std::string(one.way);
    last = one.way;
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
