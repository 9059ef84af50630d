// Fields: reads the members of a request's object, and remembers every complaint. Facades turn the
// complaints into their own error shape; first_error() is the native one.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace cay::codec {

struct Complaint {
  std::vector<std::string> where;  // {"limits", "pids"}
  std::string message;
};

// Absent and null are the same: the target is left as it is. All readers return whether the member
// was there and good.
class Fields {
 public:
  // `object` outlives it.
  explicit Fields(const json::object& object, std::vector<std::string> where = {})
      : object_(object), where_(std::move(where)) {}

  bool has(std::string_view name);  // there, and not null
  bool read(std::string_view name, std::string& out, std::size_t max_bytes = 128 * 1024);
  bool read(std::string_view name, bool& out);
  bool read(std::string_view name, std::int64_t& out, std::int64_t min, std::int64_t max);
  bool read(std::string_view name, double& out, double min, double max);  // integers too
  bool read(std::string_view name, std::vector<std::string>& out, std::size_t max_items);
  bool read(std::string_view name, std::map<std::string, std::string>& out, std::size_t max_items);
  const json::object* object(std::string_view name);  // nullptr: absent or no object
  const json::array* array(std::string_view name);

  void complain(std::string_view name, std::string message);  // name empty: of the object itself
  void adopt(Fields& inner);                                  // takes over its complaints
  // Members that nobody read become complaints.
  void refuse_unknown();
  std::vector<std::string> path(std::string_view name) const;
  const std::vector<Complaint>& complaints() const { return complaints_; }
  bool ok() const { return complaints_.empty(); }
  // kInvalidArgument, reason invalid_field: "limits.pids: must be at least 1".
  Result<void> first_error() const;

 private:
  const json::value* find(std::string_view name);
  const json::object& object_;
  std::vector<std::string> where_;
  std::set<std::string, std::less<>> seen_;
  std::vector<Complaint> complaints_;
};

}  // namespace cay::codec
