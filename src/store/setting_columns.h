// The settings of a sandbox (model/sandbox_settings.h) in its row: a column of each one's name, in
// the order of the table.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/database.h"
#include "model/sandbox.h"
#include "model/sandbox_settings.h"

namespace cay::store {

// Returns kInternal (store_broken): the database holds what this program never writes.
Error store_broken(const std::string& what);

// ---- each type of a setting: one function for each direction ----

void bind_setting(db::Statement& statement, bool value);
void bind_setting(db::Statement& statement, std::int64_t value);
void bind_setting(db::Statement& statement, const std::string& value);
void bind_setting(db::Statement& statement, Profile value);
void bind_setting(db::Statement& statement, const TmpfsMounts& value);
void bind_setting(db::Statement& statement, const VolumeMounts& value);
void bind_setting(db::Statement& statement, const PathList& value);

// Fail as store_broken().
Result<void> read_setting(const db::Statement& row, int column, bool& out);
Result<void> read_setting(const db::Statement& row, int column, std::int64_t& out);
Result<void> read_setting(const db::Statement& row, int column, std::string& out);
Result<void> read_setting(const db::Statement& row, int column, Profile& out);
Result<void> read_setting(const db::Statement& row, int column, TmpfsMounts& out);
Result<void> read_setting(const db::Statement& row, int column, VolumeMounts& out);
Result<void> read_setting(const db::Statement& row, int column, PathList& out);

// ---- all settings of an object ----

template <class Object>
std::vector<std::string> setting_columns() {
  std::vector<std::string> out;
  Object object;
  visit_settings(object,
                 [&out](const Setting& setting, const auto&) { out.emplace_back(setting.name); });
  return out;
}

template <class Object>
void bind_settings(db::Statement& statement, const Object& object) {
  visit_settings(
      object, [&statement](const Setting&, const auto& value) { bind_setting(statement, value); });
}

// Reads them from `first` on, the column of the first setting.
template <class Object>
Result<void> read_settings(const db::Statement& row, int first, Object& object) {
  Result<void> done;
  visit_settings(object, [&](const Setting&, auto& value) {
    if (done) done = read_setting(row, first++, value);
  });
  return done;
}

}  // namespace cay::store
