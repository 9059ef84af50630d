// Reads what git prints about a working tree.
#pragma once
#include <string>
#include <string_view>

#include "codec/json.h"

namespace cay::api::daytona {

// `text`: of `git status --porcelain=v2 --branch -z`. A line of another form is left out.
codec::json::object git_status_json(std::string_view text);

// `text`: of `git log` in kGitLogFormat.
inline constexpr const char* kGitLogFormat = "--format=%H%x00%an%x00%ae%x00%aI%x00%B%x00";
codec::json::array git_log_json(std::string_view text);

// `text`: of `git remote --verbose`.
codec::json::array git_remotes_json(std::string_view text);

}  // namespace cay::api::daytona
