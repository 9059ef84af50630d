// Text of an HTML page, for a model: without scripts, styles and tags. Pure, and safe for any
// bytes.
#pragma once
#include <string>
#include <string_view>

namespace cay::agent {

std::string html_text(std::string_view html);

}  // namespace cay::agent
