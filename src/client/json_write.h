// The SDK's options -> request bodies of the native API. Defaults are left out: the daemon has
// them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cay/types.h"
#include "codec/json.h"

namespace cay::client {

namespace json = boost::json;

json::object create_body(const sdk::CreateOptions& options);
json::object ensure_body(const std::string& claim, const sdk::CreateOptions& options);
json::object update_body(const sdk::UpdateOptions& options);
// "tools:1" -> the name and the tag; the tag is empty where there is none.
std::pair<std::string, std::string> name_and_tag(const std::string& name);
json::object pull_body(const sdk::PullOptions& options);
json::object build_body(const sdk::BuildOptions& options);
json::object push_body(const sdk::PushOptions& options);
json::object tag_body(const std::string& tag);
json::object capture_body(const std::string& name);
json::object fork_body(const sdk::ForkOptions& options);
json::object rollback_body(const std::string& to);
// `shell_line`: argv holds one line for sh.
enum class Line { kArgv, kShell };
json::object command_body(const std::vector<std::string>& argv, Line line,
                          const sdk::CommandOptions& options);

}  // namespace cay::client
