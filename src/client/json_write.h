// The SDK's options -> request bodies of the native API. Defaults are left out: the daemon has
// them.
#pragma once
#include <string>
#include <vector>

#include "cay/types.h"
#include "codec/json.h"

namespace cay::client {

namespace json = boost::json;

json::object create_body(const sdk::CreateOptions& options);
json::object update_body(const sdk::UpdateOptions& options);
// `shell_line`: argv holds one line for sh.
enum class Line { kArgv, kShell };
json::object command_body(const std::vector<std::string>& argv, Line line,
                          const sdk::CommandOptions& options);

}  // namespace cay::client
