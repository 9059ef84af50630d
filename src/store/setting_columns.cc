#include "store/setting_columns.h"

#include <boost/json.hpp>
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

// A JSON array of objects. A member that is false is left out.
void bind_setting(db::Statement& statement, const VolumeMounts& value) {
  boost::json::array out;
  for (const VolumeMount& one : value) {
    boost::json::object mount{{"volume", one.volume}, {"path", one.path}};
    if (one.read_only) mount["read_only"] = true;
    if (one.shared) mount["shared"] = true;
    out.push_back(std::move(mount));
  }
  statement.bind(boost::json::serialize(out));
}

// A JSON array of strings.
void bind_setting(db::Statement& statement, const PathList& value) {
  boost::json::array out;
  for (const std::string& path : value) out.emplace_back(path);
  statement.bind(boost::json::serialize(out));
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

Result<void> read_setting(const db::Statement& row, int column, VolumeMounts& out) {
  out.clear();
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;  // a path is bytes
  boost::json::error_code error;
  const auto list = boost::json::parse(row.text(column), error, {}, options);
  if (error || !list.is_array()) return store_broken("bad volumes");
  for (const auto& one : list.get_array()) {
    const auto* mount = one.if_object();
    const auto text = [&](const char* name) -> const boost::json::string* {
      const auto* found = mount == nullptr ? nullptr : mount->if_contains(name);
      return found == nullptr ? nullptr : found->if_string();
    };
    if (text("volume") == nullptr || text("path") == nullptr) return store_broken("bad volumes");
    out.push_back({std::string(*text("volume")), std::string(*text("path")),
                   mount->contains("read_only"), mount->contains("shared")});
  }
  return {};
}

Result<void> read_setting(const db::Statement& row, int column, PathList& out) {
  out.clear();
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;  // a path is bytes
  boost::json::error_code error;
  const auto list = boost::json::parse(row.text(column), error, {}, options);
  if (error || !list.is_array()) return store_broken("bad paths");
  for (const auto& one : list.get_array()) {
    if (!one.is_string()) return store_broken("bad paths");
    out.emplace_back(one.get_string());
  }
  return {};
}

}  // namespace cay::store
