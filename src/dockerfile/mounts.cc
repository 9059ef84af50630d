// The options of RUN --mount.
#include <charconv>

#include "base/ascii.h"
#include "dockerfile/instructions.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

struct Option {
  std::string name;  // in lower case
  std::optional<std::string> value;
};

Error unfit(int line, const Option& option) {
  return wrong_at(line, "--mount: " + option.name + "=" + shown(option.value.value_or("")) +
                            " is not understood");
}

Result<bool> bool_of(int line, const Option& option) {
  if (!option.value || *option.value == "true" || *option.value == "1") return true;
  if (*option.value == "false" || *option.value == "0") return false;
  return unfit(line, option);
}

Result<std::uint32_t> number_of(int line, const Option& option, int base) {
  const std::string text = option.value.value_or("");
  std::uint32_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (failed != std::errc() || end != text.data() + text.size()) return unfit(line, option);
  return out;
}

// "64m", "1g", "4096".
Result<std::uint64_t> size_of(int line, const Option& option) {
  const std::string text = lowered(option.value.value_or(""));
  std::uint64_t out = 0;
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, out);
  std::string_view unit(end, last);
  if (failed != std::errc()) return unfit(line, option);
  if (unit.ends_with('b')) unit.remove_suffix(1);
  const unsigned shift = unit.empty()  ? 0
                         : unit == "k" ? 10
                         : unit == "m" ? 20
                         : unit == "g" ? 30
                                       : 64;
  if (shift == 64 || out > (~std::uint64_t{0} >> shift)) return unfit(line, option);
  return out << shift;
}

Result<MountType> type_of(int line, const Option& option) {
  const std::string text = lowered(option.value.value_or(""));
  if (text == "bind") return MountType::kBind;
  if (text == "cache") return MountType::kCache;
  if (text == "tmpfs") return MountType::kTmpfs;
  if (text == "secret") return MountType::kSecret;
  if (text == "ssh") {
    return refused_at(line, "RUN --mount=type=ssh is not supported: use a secret or the policy");
  }
  return unfit(line, option);
}

Result<Sharing> sharing_of(int line, const Option& option) {
  const std::string text = lowered(option.value.value_or(""));
  if (text == "shared") return Sharing::kShared;
  if (text == "private") return Sharing::kPrivate;
  if (text == "locked") return Sharing::kLocked;
  return unfit(line, option);
}

bool is_any(MountType type, std::initializer_list<MountType> of) {
  for (const MountType one : of) {
    if (one == type) return true;
  }
  return false;
}

std::string* text_option(Mount& mount, std::string_view name) {
  using enum MountType;
  if (name == "target" || name == "dst" || name == "destination") return &mount.target;
  if (is_any(mount.type, {kBind, kCache})) {
    if (name == "source" || name == "src") return &mount.source;
    if (name == "from") return &mount.from;
  }
  if (is_any(mount.type, {kCache, kSecret}) && name == "id") return &mount.id;
  if (mount.type == kSecret && name == "env") return &mount.env;
  return nullptr;
}

Result<void> read_option(int line, const Option& option, Mount& mount) {
  using enum MountType;
  if (option.name == "type") return {};
  if (std::string* const text = text_option(mount, option.name)) {
    if (!option.value || option.value->empty()) return unfit(line, option);
    *text = *option.value;
    return {};
  }
  const bool has_owner = is_any(mount.type, {kCache, kSecret});
  if (is_any(mount.type, {kBind, kCache}) && (option.name == "ro" || option.name == "readonly")) {
    CAY_TRY(mount.read_only, bool_of(line, option));
  } else if (is_any(mount.type, {kBind, kCache}) &&
             (option.name == "rw" || option.name == "readwrite")) {
    CAY_TRY(const bool writable, bool_of(line, option));
    mount.read_only = !writable;
  } else if (has_owner && option.name == "uid") {
    CAY_TRY(mount.uid, number_of(line, option, 10));
  } else if (has_owner && option.name == "gid") {
    CAY_TRY(mount.gid, number_of(line, option, 10));
  } else if (has_owner && option.name == "mode") {
    CAY_TRY(mount.mode, number_of(line, option, 8));
    if (*mount.mode > 07777) return unfit(line, option);
  } else if (mount.type == kTmpfs && option.name == "size") {
    CAY_TRY(mount.size, size_of(line, option));
  } else if (mount.type == kCache && option.name == "sharing") {
    CAY_TRY(mount.sharing, sharing_of(line, option));
  } else if (mount.type == kSecret && option.name == "required") {
    CAY_TRY(mount.required, bool_of(line, option));
  } else {
    return wrong_at(line, "a mount of this type has no option " + shown(option.name));
  }
  return {};
}

std::vector<Option> options_of(std::string_view text) {
  std::vector<Option> out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    Option one{lowered(part.substr(0, equals)), std::nullopt};
    if (equals != std::string_view::npos) one.value = std::string(part.substr(equals + 1));
    out.push_back(std::move(one));
  }
  return out;
}

// Fills in what follows from other options.
Result<void> complete(int line, Mount& mount) {
  if (mount.from.find('$') != std::string::npos) {
    return refused_at(line, "--mount: from takes no variable: name a stage with FROM");
  }
  if (mount.type == MountType::kSecret) {
    if (mount.id.empty()) {
      mount.id = mount.target.substr(mount.target.rfind('/') + 1);
    }
    if (mount.id.empty()) return wrong_at(line, "--mount=type=secret needs an id");
    if (mount.target.empty() && mount.env.empty()) mount.target = "/run/secrets/" + mount.id;
    return {};
  }
  if (mount.target.empty()) return wrong_at(line, "--mount needs a target");
  if (mount.type == MountType::kCache && mount.id.empty()) mount.id = mount.target;
  return {};
}

}  // namespace

Result<Mount> mount_of(int line, std::string_view text) {
  Mount out;
  const auto options = options_of(text);
  for (const auto& option : options) {
    if (option.name == "type") {
      CAY_TRY(out.type, type_of(line, option));
    }
  }
  out.read_only = out.type == MountType::kBind;
  for (const auto& option : options) {
    CAY_CHECK(read_option(line, option, out));
  }
  CAY_CHECK(complete(line, out));
  return out;
}

}  // namespace cay::dockerfile
