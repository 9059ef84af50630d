// Sandbox <-> row. The order of columns() is the order of bind_row and read_row.
#pragma once
#include <map>
#include <string>

#include "model/sandbox.h"
#include "db/database.h"

namespace cay::store {

const std::string& columns();       // "id, tenant, ..."
const std::string& placeholders();  // "?, ?, ..."
// "tenant=?2, ...", numbered as bind_row() binds; ?1 is the id. SQLite writes each index again that
// has a column of them, so those that are the same as before stay out.
enum class Keys { kChange, kStay };  // tenant, name, created_at, claim
const std::string& assignments(Keys keys);

void bind_row(db::Statement& statement, const Sandbox& sandbox);
// Fails kInternal (store_broken) on what this program never writes.
Result<Sandbox> read_row(const db::Statement& statement);

// A JSON object of strings.
std::string encode(const std::map<std::string, std::string>& map);
Result<std::map<std::string, std::string>> decode(const std::string& json);

}  // namespace cay::store
