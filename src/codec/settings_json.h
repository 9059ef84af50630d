// The settings of a sandbox (model/sandbox_settings.h) in JSON, each as its own member.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/fields.h"
#include "codec/json.h"
#include "model/sandbox.h"
#include "model/sandbox_settings.h"

namespace cay::codec {

inline constexpr std::int64_t kMostSeconds = 10LL * 365 * 86'400;

// Returns the JSON string of a text that belongs to the setting `name`.
using TextOf = json::string (*)(std::string_view name, std::string_view value);
// Replaces invalid UTF-8, as text() does.
json::string replaced_text(std::string_view name, std::string_view value);

// ---- each type of a setting: one function for each direction ----

json::value setting_json(const Setting& setting, bool value, TextOf text_of);
json::value setting_json(const Setting& setting, std::int64_t value, TextOf text_of);
json::value setting_json(const Setting& setting, const std::string& value, TextOf text_of);
json::value setting_json(const Setting& setting, Profile value, TextOf text_of);
json::value setting_json(const Setting& setting, const TmpfsMounts& value, TextOf text_of);
json::value setting_json(const Setting& setting, const VolumeMounts& value, TextOf text_of);
json::value setting_json(const Setting& setting, const PathList& value, TextOf text_of);

// Return whether a request gave the member, and complain where it is wrong.
bool read_setting(Fields& fields, const Setting& setting, bool& out);
bool read_setting(Fields& fields, const Setting& setting, std::int64_t& out);
bool read_setting(Fields& fields, const Setting& setting, std::string& out);
bool read_setting(Fields& fields, const Setting& setting, TmpfsMounts& out);
bool read_setting(Fields& fields, const Setting& setting, VolumeMounts& out);
bool read_setting(Fields& fields, const Setting& setting, PathList& out);
template <class T>
bool read_setting(Fields& fields, const Setting& setting, std::optional<T>& out) {
  T value{};
  const bool given = read_setting(fields, setting, value);
  if (given) out = std::move(value);
  return given;
}

void setting_at(const json::object& in, const Setting& setting, bool& out);
void setting_at(const json::object& in, const Setting& setting, std::int64_t& out);
void setting_at(const json::object& in, const Setting& setting, std::string& out);
void setting_at(const json::object& in, const Setting& setting, Profile& out);
void setting_at(const json::object& in, const Setting& setting, TmpfsMounts& out);
void setting_at(const json::object& in, const Setting& setting, VolumeMounts& out);
void setting_at(const json::object& in, const Setting& setting, PathList& out);

// The SDK has a type of its own for a VolumeMount, with the same members.
template <class T>
concept OfVolume = !std::same_as<T, VolumeMount> && requires(T mount) {
  { mount.shared } -> std::same_as<bool&>;
};
template <OfVolume T>
json::value setting_json(const Setting& setting, const std::vector<T>& value, TextOf text_of) {
  VolumeMounts out;
  for (const T& one : value) out.push_back({one.volume, one.path, one.read_only, one.shared});
  return setting_json(setting, out, text_of);
}
template <OfVolume T>
void setting_at(const json::object& in, const Setting& setting, std::vector<T>& out) {
  VolumeMounts read;
  setting_at(in, setting, read);
  out.clear();
  for (const VolumeMount& one : read)
    out.push_back({one.volume, one.path, one.read_only, one.shared});
}

// ---- all settings of an object ----

// Writes every setting: an answer.
template <class Object>
void put_settings(json::object& out, const Object& object) {
  visit_settings(object, [&out](const Setting& setting, const auto& value) {
    out[setting.name] = setting_json(setting, value, replaced_text);
  });
}

// Writes the settings that were given: a request.
template <class Object>
void put_given_settings(json::object& out, const Object& object, TextOf text_of = replaced_text) {
  visit_settings(object, [&]<class T>(const Setting& setting, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) out[setting.name] = setting_json(setting, *value, text_of);
    } else if (value != T{}) {
      out[setting.name] = setting_json(setting, value, text_of);
    }
  });
}

// Reads a request strictly. A setting that was not given stays as it is.
template <class Object>
void read_settings(Fields& fields, Object& object) {
  visit_settings(object, [&fields](const Setting& setting, auto& value) {
    read_setting(fields, setting, value);
  });
}

// Reads an answer leniently. A setting that is missing there becomes its type's default.
template <class Object>
void settings_at(const json::object& in, Object& object) {
  visit_settings(object,
                 [&in](const Setting& setting, auto& value) { setting_at(in, setting, value); });
}

}  // namespace cay::codec
