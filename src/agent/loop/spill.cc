#include "agent/loop/spill.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/loop/context.h"

namespace cay::agent {
namespace {

constexpr std::array<std::string_view, 7> kBounded = {
    "ls", "glob", "grep", "read_file", "edit_file", "write_file", "delete"};

bool is_bounded(std::string_view tool) {
  for (const auto name : kBounded) {
    if (name == tool) return true;
  }
  return false;
}

}  // namespace

Task<std::string> write_aside(Harness* harness, std::string relative, std::string bytes) {
  if (!harness->backend) co_return std::string();
  std::string path = harness->backend->workdir();
  if (!path.ends_with('/')) path += '/';
  path += relative;
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(path, std::move(bytes));
  auto got = co_await harness->backend->upload(std::move(files));
  if (!got && got.error().code == Code::kLost) co_return std::move(got).error();
  const bool written = got && got->size() == 1 && got->front().error.empty();
  co_return written ? path : std::string();
}

Task<ToolResult> spill_result(Harness* harness, std::string call_id, std::string tool,
                              ToolResult result) {
  std::string text;
  for (const auto& block : result.blocks) {
    if (const auto* each = std::get_if<Text>(&block)) text += each->text;
  }
  const auto most = result_limit(harness->model->profile());
  if (text.size() <= most || is_bounded(tool)) co_return result;
  std::string relative = "large_tool_results/" + file_name_of(call_id);
  CAY_CO_TRY(const auto path, co_await write_aside(harness, std::move(relative), text));
  if (path.empty()) co_return result;
  std::vector<Block> blocks{Text{spilled_text(call_id, path, text)}};
  for (auto& block : result.blocks) {
    if (!std::holds_alternative<Text>(block)) blocks.push_back(std::move(block));
  }
  result.blocks = std::move(blocks);
  result.artifact["spilled_to"] = path;
  co_return result;
}

Task<std::string> spill_input(Harness* harness, std::string name, std::string text) {
  if (text.size() <= kLargeInput) co_return std::string();
  std::string relative = "conversation_history/" + name + ".md";
  auto written = write_aside(harness, std::move(relative), std::move(text));
  co_return co_await std::move(written);
}

}  // namespace cay::agent
