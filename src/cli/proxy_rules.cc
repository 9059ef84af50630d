#include "cli/proxy_rules.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "cay/error.h"
#include "cli/known_api.h"
#include "model/proxy.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

ApiError bad_rule(const std::string& of, const std::string& why) {
  return {ErrorCode::kInvalidArgument, "bad_file", of + ": " + why};
}

std::string text_in(const std::string& file) {
  std::string text;
  if (file == "-") {
    char piece[4096];
    ssize_t got = 0;
    while ((got = ::read(0, piece, sizeof piece)) > 0)
      text.append(piece, static_cast<std::size_t>(got));
    return text;
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw bad_rule(file, std::strerror(errno));
  text.assign(std::istreambuf_iterator<char>(in), {});
  return text;
}

// A rule or a list of them: itself, or "-" and a file's name.
void add_written(const std::string& rule, json::array& to) {
  const bool is_text = rule.starts_with('{') || rule.starts_with('[');
  auto value = codec::parse(is_text ? rule : text_in(rule));
  const std::string of = is_text ? "--proxy" : rule;
  if (!value) throw bad_rule(of, value.error().message);
  if (value->is_object()) {
    to.push_back(*std::move(value));
    return;
  }
  if (!value->is_array()) throw bad_rule(of, "must be a rule or a list of rules (docs/api.md)");
  for (json::value& one : value->get_array()) to.push_back(std::move(one));
}

// "SECRET", "SECRET=WAY" or "SECRET=API". A secret that is named after a known API is that API's,
// in whatever way.
std::vector<json::object> used(const std::string& use) {
  const std::size_t equals = std::min(use.find('='), use.size());
  const std::string secret = use.substr(0, equals),
                    how = use.substr(std::min(equals + 1, use.size()));
  std::vector<json::object> out;
  const bool is_way = proxy_way_from(how).has_value();
  const KnownApi* const api = known_api(how.empty() || is_way ? secret : how);
  if (api != nullptr) {
    for (json::value& rule : api->rules(secret, is_way ? how : ""))
      out.push_back(std::move(rule.get_object()));
    if (out.empty()) {
      throw ApiError(ErrorCode::kInvalidArgument, "bad_value",
                     "--use " + use + ": " + std::string(api->name) +
                         " cannot be used in the way " + how +
                         ", which its programs do not know: " + api->ways());
    }
    return out;
  }
  if (!how.empty() && !is_way) {
    throw ApiError(
        ErrorCode::kInvalidArgument, "bad_value",
        "--use " + use + ": '" + how +
            "' is neither a way (base_url, headers, placeholder) nor an API that Cay knows (" +
            known_apis() + ")");
  }
  json::object& rule = out.emplace_back(json::object{{"secret", secret}});
  if (!how.empty()) rule["way"] = how;
  return out;
}

}  // namespace

sdk::CreateOptions with_rules(sdk::CreateOptions options, const RuleArgs& args) {
  if (args.empty()) return options;
  if (options.policy == "off") {
    throw ApiError(
        ErrorCode::kInvalidArgument, "bad_value",
        "--use, --fence and --proxy reach nothing with --policy off: leave --policy out, or "
        "name what else it may reach (`cay policy ls`); what a proxy rule is for needs no "
        "policy");
  }
  options.proxy = codec::write(rules_of(args));
  return options;
}

json::array rules_of(const RuleArgs& args) {
  json::array out;
  const auto narrowed = [&](json::object rule) {
    if (!args.methods.empty()) rule["methods"] = texts(args.methods);
    if (!args.paths.empty()) rule["paths"] = texts(args.paths);
    return rule;
  };
  for (const std::string& rule : args.rules) add_written(rule, out);
  for (const std::string& use : args.uses) {
    for (json::object& rule : used(use)) out.emplace_back(narrowed(std::move(rule)));
  }
  for (const std::string& host : args.fences)
    out.emplace_back(narrowed({{"hosts", json::array{host}}}));
  return out;
}

}  // namespace cay::cli
