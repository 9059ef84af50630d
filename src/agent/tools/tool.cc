#include "agent/tools/tool.h"

#include <utility>

namespace cay::agent {

ToolResult ToolResult::of(std::string text) {
  ToolResult out;
  out.blocks.emplace_back(Text{std::move(text)});
  return out;
}

ToolResult ToolResult::failure(std::string text) {
  auto out = of(std::move(text));
  out.failed = true;
  return out;
}

Task<std::optional<ToolResult>> Tool::stop(codec::json::object /*arguments*/,
                                           ToolContext /*context*/) {
  co_return std::nullopt;
}

}  // namespace cay::agent
