#include "webhook_config.h"

#include <algorithm>

#include "api/outbound/webhook_signature.h"
#include "secret_file.h"

namespace cay::app {
namespace {

Error wrong(const std::string& what) {
  return {Code::kInvalidArgument, "bad_config", "[[webhooks]] " + what, 0};
}

Result<std::string> read_secret(const std::string& path) {
  CAY_TRY(const std::string text, read_secret_file("[[webhooks]] secret_file", path));
  auto key = api::webhook_key(text);
  if (!key) return std::move(key).error().while_doing(path);
  return key;
}

Result<std::string> text_of(const toml::node& node, const std::string& name) {
  const auto value = node.value_exact<std::string>();
  if (!value) return wrong(name + " must be a string");
  return *value;
}

Result<api::WebhookConfig> read_one(const toml::table& table) {
  api::WebhookConfig out;
  std::string secret_file;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name == "name") {
      CAY_TRY(out.name, text_of(node, name));
    } else if (name == "url") {
      CAY_TRY(out.url, text_of(node, name));
    } else if (name == "ca_file") {
      CAY_TRY(out.ca_file, text_of(node, name));
    } else if (name == "tenant") {
      CAY_TRY(out.tenant, text_of(node, name));
    } else if (name == "secret_file") {
      CAY_TRY(secret_file, text_of(node, name));
    } else if (name == "events") {
      const auto* list = node.as_array();
      if (list == nullptr) return wrong("events must be a list of strings");
      for (const auto& item : *list) {
        CAY_TRY(std::string type, text_of(item, name));
        out.events.push_back(std::move(type));
      }
    } else {
      return wrong("has an unknown setting '" + name + "'");
    }
  }
  if (out.name.empty() || out.url.empty() || secret_file.empty())
    return wrong("needs name, url and secret_file");
  CAY_TRY(out.key, read_secret(secret_file));
  return out;
}

}  // namespace

Result<void> load_webhooks(const toml::node& list, std::vector<api::WebhookConfig>& out) {
  const auto* tables = list.as_array();
  if (tables == nullptr) return wrong("is a list of tables: write two brackets on each side");
  for (const auto& item : *tables) {
    const auto* table = item.as_table();
    if (table == nullptr) return wrong("is a list of tables: write two brackets on each side");
    CAY_TRY(auto one, read_one(*table));
    const bool twice = std::any_of(out.begin(), out.end(),
                                   [&](const auto& other) { return other.name == one.name; });
    if (twice) return wrong("has two named '" + one.name + "'");
    out.push_back(std::move(one));
  }
  return {};
}

}  // namespace cay::app
