#include "codec/settings_json.h"

#include <algorithm>
#include <limits>

#include "codec/lenient.h"

namespace cay::codec {

json::string replaced_text(std::string_view, std::string_view value) { return text(value); }

json::value setting_json(const Setting&, bool value, TextOf) { return value; }
json::value setting_json(const Setting&, std::int64_t value, TextOf) { return value; }
json::value setting_json(const Setting& setting, const std::string& value, TextOf text_of) {
  return text_of(setting.name, value);
}
json::value setting_json(const Setting&, Profile value, TextOf) {
  return json::string(to_string(value));
}
json::value setting_json(const Setting& setting, const TmpfsMounts& value, TextOf text_of) {
  json::object out;
  for (const auto& [path, bytes] : value) out[text_of(setting.name, path)] = bytes;
  return out;
}

json::value setting_json(const Setting& setting, const VolumeMounts& value, TextOf text_of) {
  json::array out;
  for (const VolumeMount& one : value)
    out.push_back(json::object{{"volume", text_of(setting.name, one.volume)},
                               {"path", text_of(setting.name, one.path)},
                               {"read_only", one.read_only},
                               {"shared", one.shared}});
  return out;
}

json::value setting_json(const Setting& setting, const PathList& value, TextOf text_of) {
  json::array out;
  for (const std::string& path : value) out.push_back(text_of(setting.name, path));
  return out;
}

bool read_setting(Fields& fields, const Setting& setting, bool& out) {
  return fields.read(setting.name, out);
}

bool read_setting(Fields& fields, const Setting& setting, std::int64_t& out) {
  std::int64_t value = 0;
  if (!fields.read(setting.name, value, -1, kMostSeconds)) return false;
  out = std::max<std::int64_t>(value, 0);
  return true;
}

bool read_setting(Fields& fields, const Setting& setting, std::string& out) {
  if (!fields.read(setting.name, out)) return false;
  if (out.empty() && !setting.if_empty.empty())
    fields.complain(setting.name, std::string(setting.if_empty));
  return true;
}

bool read_setting(Fields& fields, const Setting& setting, TmpfsMounts& out) {
  const json::object* sizes = fields.object(setting.name);
  if (sizes == nullptr) return false;
  Fields in(*sizes, fields.path(setting.name));
  for (const auto& member : *sizes) {
    std::uint64_t& size = out[std::string(member.key())];
    std::int64_t value = 0;
    if (in.read(member.key(), value, 0, std::numeric_limits<std::int64_t>::max()))
      size = static_cast<std::uint64_t>(value);
  }
  fields.adopt(in);
  return true;
}

bool read_setting(Fields& fields, const Setting& setting, VolumeMounts& out) {
  const json::array* list = fields.array(setting.name);
  if (list == nullptr) return false;
  for (const json::value& one : *list) {
    if (!one.is_object()) {
      fields.complain(setting.name, "must be a list of objects");
      return true;
    }
    Fields in(one.get_object(), fields.path(setting.name));
    VolumeMount mount;
    if (!in.read("volume", mount.volume)) in.complain("volume", "is needed: a name or an id");
    if (!in.read("path", mount.path)) in.complain("path", "is needed");
    in.read("read_only", mount.read_only);
    in.read("shared", mount.shared);
    in.refuse_unknown();
    fields.adopt(in);
    out.push_back(std::move(mount));
  }
  return true;
}

bool read_setting(Fields& fields, const Setting& setting, PathList& out) {
  constexpr std::size_t kMostPaths = 1000;  // the core allows fewer, with a reason
  return fields.read(setting.name, out, kMostPaths);
}

void setting_at(const json::object& in, const Setting& setting, bool& out) {
  out = bool_at(in, setting.name);
}
void setting_at(const json::object& in, const Setting& setting, std::int64_t& out) {
  out = number_at<std::int64_t>(in, setting.name);
}
void setting_at(const json::object& in, const Setting& setting, std::string& out) {
  out = string_at(in, setting.name);
}
void setting_at(const json::object& in, const Setting& setting, Profile& out) {
  out = profile_from(string_at(in, setting.name)).value_or(Profile::kDefault);
}
void setting_at(const json::object& in, const Setting& setting, TmpfsMounts& out) {
  const json::object& sizes = object_at(in, setting.name);
  out.clear();
  for (const auto& member : sizes)
    out[std::string(member.key())] = number_at<std::uint64_t>(sizes, member.key());
}

void setting_at(const json::object& in, const Setting& setting, VolumeMounts& out) {
  out.clear();
  const json::value* list = in.if_contains(setting.name);
  if (list == nullptr || !list->is_array()) return;
  for (const json::value& one : list->get_array()) {
    if (!one.is_object()) continue;
    const json::object& mount = one.get_object();
    out.push_back({string_at(mount, "volume"), string_at(mount, "path"),
                   bool_at(mount, "read_only"), bool_at(mount, "shared")});
  }
}

void setting_at(const json::object& in, const Setting& setting, PathList& out) {
  out.clear();
  const json::value* list = in.if_contains(setting.name);
  if (list == nullptr || !list->is_array()) return;
  for (const json::value& one : list->get_array()) {
    if (one.is_string()) out.emplace_back(one.get_string());
  }
}

}  // namespace cay::codec
