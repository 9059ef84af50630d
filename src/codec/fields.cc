#include "codec/fields.h"

#include <cmath>

namespace cay::codec {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }
std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

}  // namespace

const json::value* Fields::find(std::string_view name) {
  seen_.emplace(name);
  const json::value* found = object_.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool Fields::has(std::string_view name) { return find(name) != nullptr; }

bool Fields::read(std::string_view name, std::string& out, std::size_t max_bytes) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  if (!found->is_string()) {
    complain(name, "must be a string");
    return false;
  }
  const std::string_view got = view(found->get_string());
  if (got.size() > max_bytes) {
    complain(name, "is longer than " + std::to_string(max_bytes) + " bytes");
    return false;
  }
  out.assign(got);
  return true;
}

bool Fields::read(std::string_view name, bool& out) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  if (!found->is_bool()) {
    complain(name, "must be true or false");
    return false;
  }
  out = found->get_bool();
  return true;
}

bool Fields::read(std::string_view name, std::int64_t& out, std::int64_t min, std::int64_t max) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  std::int64_t got = 0;
  if (found->is_int64()) {
    got = found->get_int64();
  } else if (found->is_uint64()) {
    complain(name, "must be at most " + std::to_string(max));
    return false;
  } else if (found->is_double() && std::floor(found->get_double()) == found->get_double() &&
             std::abs(found->get_double()) < 9e15) {
    got = static_cast<std::int64_t>(found->get_double());  // 1e3 and 5.0 are integers in JSON
  } else if (found->is_double() &&
             std::abs(found->get_double()) >= 9e15) {  // an integer too, and never in range
    complain(name, "must be from " + std::to_string(min) + " to " + std::to_string(max));
    return false;
  } else {
    complain(name, "must be an integer");
    return false;
  }
  if (got < min || got > max) {
    complain(name, "must be from " + std::to_string(min) + " to " + std::to_string(max));
    return false;
  }
  out = got;
  return true;
}

bool Fields::read(std::string_view name, double& out, double min, double max) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  if (!found->is_number()) {
    complain(name, "must be a number");
    return false;
  }
  const double got = found->to_number<double>();
  if (!(got >= min && got <= max)) {
    complain(name, "must be from " + std::to_string(static_cast<std::int64_t>(min)) + " to " +
                       std::to_string(static_cast<std::int64_t>(max)));
    return false;
  }
  out = got;
  return true;
}

bool Fields::read(std::string_view name, std::vector<std::string>& out, std::size_t max_items) {
  const json::array* items = array(name);
  if (items == nullptr) return false;
  if (items->size() > max_items) {
    complain(name, "has more than " + std::to_string(max_items) + " items");
    return false;
  }
  std::vector<std::string> got;
  for (const json::value& item : *items) {
    if (!item.is_string()) {
      complain(name, "must be a list of strings");
      return false;
    }
    got.emplace_back(view(item.get_string()));
  }
  out = std::move(got);
  return true;
}

bool Fields::read(std::string_view name, std::map<std::string, std::string>& out,
                  std::size_t max_items) {
  const json::object* members = object(name);
  if (members == nullptr) return false;
  if (members->size() > max_items) {
    complain(name, "has more than " + std::to_string(max_items) + " members");
    return false;
  }
  std::map<std::string, std::string> got;
  for (const auto& member : *members) {
    const std::string key(member.key());
    if (!member.value().is_string()) {
      complain(name, "\"" + key + "\" must be a string");
      return false;
    }
    const std::string_view value = view(member.value().get_string());
    if (key.empty() || has_nul(key) || has_nul(value)) {
      complain(name, "holds an empty name or a NUL");
      return false;
    }
    got[key] = value;
  }
  out = std::move(got);
  return true;
}

const json::object* Fields::object(std::string_view name) {
  const json::value* found = find(name);
  if (found == nullptr) return nullptr;
  if (!found->is_object()) complain(name, "must be an object");
  return found->if_object();
}

const json::array* Fields::array(std::string_view name) {
  const json::value* found = find(name);
  if (found == nullptr) return nullptr;
  if (!found->is_array()) complain(name, "must be a list");
  return found->if_array();
}

void Fields::complain(std::string_view name, std::string message) {
  complaints_.push_back({path(name), std::move(message)});
}

void Fields::adopt(Fields& inner) {
  for (Complaint& complaint : inner.complaints_) complaints_.push_back(std::move(complaint));
  inner.complaints_.clear();
}

void Fields::refuse_unknown() {
  for (const auto& member : object_) {
    const std::string_view key(member.key().data(), member.key().size());
    if (!seen_.contains(key)) complain(key, "is not a member that this request knows");
  }
}

std::vector<std::string> Fields::path(std::string_view name) const {
  std::vector<std::string> out = where_;
  if (!name.empty()) out.emplace_back(name);
  return out;
}

Result<void> Fields::first_error() const {
  if (complaints_.empty()) return {};
  std::string where;
  for (const std::string& part : complaints_.front().where) {
    if (!where.empty()) where += '.';
    where += part;
  }
  return Error{
      Code::kInvalidArgument, "invalid_field",
      where.empty() ? complaints_.front().message : where + ": " + complaints_.front().message, 0};
}

}  // namespace cay::codec
