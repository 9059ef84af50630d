#include "store/setting_columns.h"

#include <charconv>

#include "store/rows.h"

namespace cay::store {

Error store_broken(const std::string& what) {
  return {Code::kInternal, "store_broken", "state.db holds " + what + ": restore it from a backup",
          0};
}

void bind_setting(db::Statement& statement, bool value) {
  statement.bind(std::int64_t{value ? 1 : 0});
}
void bind_setting(db::Statement& statement, std::int64_t value) { statement.bind(value); }
void bind_setting(db::Statement& statement, const std::string& value) { statement.bind(value); }
void bind_setting(db::Statement& statement, Profile value) {
  statement.bind(std::string(to_string(value)));
}

// A JSON object of strings: the sizes are decimal digits.
void bind_setting(db::Statement& statement, const TmpfsMounts& value) {
  std::map<std::string, std::string> sizes;
  for (const auto& [path, bytes] : value) sizes[path] = std::to_string(bytes);
  statement.bind(encode(sizes));
}

Result<void> read_setting(const db::Statement& row, int column, bool& out) {
  out = row.number(column) != 0;
  return {};
}

Result<void> read_setting(const db::Statement& row, int column, std::int64_t& out) {
  out = row.number(column);
  return {};
}

Result<void> read_setting(const db::Statement& row, int column, std::string& out) {
  out = row.text(column);
  return {};
}

Result<void> read_setting(const db::Statement& row, int column, Profile& out) {
  const std::string name = row.text(column);
  const auto known = profile_from(name);
  if (!known) return store_broken("the unknown profile '" + name + "'");
  out = *known;
  return {};
}

Result<void> read_setting(const db::Statement& row, int column, TmpfsMounts& out) {
  CAY_TRY(const auto sizes, decode(row.text(column)));
  out.clear();
  for (const auto& [path, text] : sizes) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out[path]);
    if (failed != std::errc() || end != text.data() + text.size())
      return store_broken("the size '" + text + "'");
  }
  return {};
}

}  // namespace cay::store
