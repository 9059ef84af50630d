// The output of commands: tables for people, JSON for machines. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cay/client.h"
#include "codec/json.h"

namespace cay::cli {

using Row = std::vector<std::string>;
// Columns as wide as they need; control characters of guests' strings made visible.
std::string table(const Row& head, const std::vector<Row>& rows);
// One line of a table's cell: no control characters (the C1 ones of UTF-8 too), so that no guest
// paints the terminal.
enum class Newlines { kShown, kKept };
std::string printable(std::string_view text, Newlines newlines = Newlines::kShown);

// One word of a shell, whatever is in it: within single quotes.
std::string shell_quoted(std::string_view text);

std::string sandbox_table(const std::vector<sdk::SandboxInfo>& items);
std::string command_table(const std::vector<sdk::CommandInfo>& items);
std::string doctor_table(const std::vector<sdk::Feature>& items);
std::string snapshot_table(const std::vector<sdk::Snapshot>& items);
// Returns the words by which commands take it: "tools:1", and the id of one without a tag.
std::string snapshot_ref(const sdk::Snapshot& snapshot);
std::string snapshot_report(const sdk::Snapshot& snapshot);
struct NamedStats {
  std::string name;
  sdk::Stats stats;
};
std::string stats_table(const std::vector<NamedStats>& items);

// {state, exit_code, signal, reason, ...}: design of --json for results. Ends with a newline.
// `refused`: of a command that failed, as refused.h has it.
std::string result_json(const sdk::CommandResult& result,
                        std::optional<codec::json::array> refused = std::nullopt);
std::string copy_json(const sdk::CopyReport& report);
std::string error_json(const ApiError& error);
std::string features_json(const std::vector<sdk::Feature>& items, bool daemon);
std::string stats_json(const std::vector<NamedStats>& items);
// [a,b] of answers kept as JSON text.
std::string json_array(const std::vector<std::string>& items);
// One item of a list with the outcome for each sandbox (or snapshot) that was named. No line end.
std::string json_item(const std::string& ref, const char* kind = "sandbox");
std::string json_item(const std::string& ref, const ApiError& error, const char* kind = "sandbox");
std::string json_object(const std::vector<std::pair<std::string, std::string>>& strings);

// Returns a sentence about an end that an exit code does not show, "" for an ordinary exit.
std::string end_sentence(const sdk::CommandInfo& command);

}  // namespace cay::cli
