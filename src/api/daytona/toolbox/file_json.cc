#include "api/daytona/toolbox/file_json.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "codec/time.h"

namespace cay::api::daytona {
namespace {

constexpr std::int64_t kNanosInSecond = 1'000'000'000;
constexpr std::int64_t kNanosInMilli = 1'000'000;
constexpr std::int64_t kMillisInOneSecond = 1000;
constexpr std::size_t kNanoDigits = 9;
constexpr std::size_t kDate = 10;      // "2026-11-28"
constexpr std::size_t kTimeOfDay = 8;  // "03:51:23"
constexpr std::uint32_t kPermissionBits = 07777;
constexpr std::uint32_t kSetUid = 04000;
constexpr std::uint32_t kSetGid = 02000;
constexpr std::uint32_t kSticky = 01000;
constexpr int kBits = 9;

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kTypes{
    {{".css", "text/css; charset=utf-8"},
     {".csv", "text/csv; charset=utf-8"},
     {".gif", "image/gif"},
     {".gz", "application/gzip"},
     {".htm", "text/html; charset=utf-8"},
     {".html", "text/html; charset=utf-8"},
     {".jpeg", "image/jpeg"},
     {".jpg", "image/jpeg"},
     {".js", "text/javascript; charset=utf-8"},
     {".json", "application/json"},
     {".md", "text/markdown; charset=utf-8"},
     {".mp4", "video/mp4"},
     {".pdf", "application/pdf"},
     {".png", "image/png"},
     {".py", "text/x-python; charset=utf-8"},
     {".svg", "image/svg+xml"},
     {".tar", "application/x-tar"},
     {".ts", "text/x-typescript; charset=utf-8"},
     {".txt", "text/plain; charset=utf-8"},
     {".wasm", "application/wasm"},
     {".webp", "image/webp"},
     {".xml", "text/xml; charset=utf-8"},
     {".yaml", "application/yaml"},
     {".zip", "application/zip"}}};

std::string whole_seconds(std::int64_t seconds) {
  return codec::rfc3339(seconds * kMillisInOneSecond);
}

}  // namespace

std::string go_mode(FileKind kind, std::uint32_t mode) {
  std::string out;
  if (kind == FileKind::kDirectory) out += 'd';
  if (kind == FileKind::kSymlink) out += 'L';
  if (kind == FileKind::kOther) out += '?';
  if ((mode & kSetUid) != 0) out += 'u';
  if ((mode & kSetGid) != 0) out += 'g';
  if ((mode & kSticky) != 0) out += 't';
  if (out.empty()) out += '-';
  for (int bit = kBits - 1; bit >= 0; --bit)
    out += (mode >> static_cast<unsigned>(bit) & 1) != 0 ? "xwr"[bit % 3] : '-';
  return out;
}

std::string go_time(std::int64_t since_1970_ns) {
  std::int64_t seconds = since_1970_ns / kNanosInSecond;
  std::int64_t nanos = since_1970_ns % kNanosInSecond;
  if (nanos < 0) {
    --seconds;
    nanos += kNanosInSecond;
  }
  const std::string rfc = whole_seconds(seconds);
  std::string out = rfc.substr(0, kDate) + " " + rfc.substr(kDate + 1, kTimeOfDay);
  if (nanos != 0) {
    std::string digits = std::to_string(nanos);
    digits.insert(0, kNanoDigits - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    out += "." + digits;
  }
  return out + " +0000 UTC";
}

std::string base_name(const std::string& path) {
  std::string_view rest = path;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || rest.size() == 1) return std::string(rest);
  return std::string(rest.substr(slash + 1));
}

codec::json::object file_json(const FileInfo& info, bool with_path) {
  std::array<char, 8> permissions{};
  std::snprintf(permissions.data(), permissions.size(), "%04o", info.mode & kPermissionBits);
  codec::json::object out{
      {"name", codec::text(base_name(info.path))},
      {"size", info.size},
      {"mode", go_mode(info.kind, info.mode)},
      {"modTime", go_time(info.mtime_ns)},
      {"modifiedAt", codec::rfc3339(info.mtime_ns / kNanosInMilli)},
      {"isDir", info.kind == FileKind::kDirectory},
      {"owner", codec::text(info.owner.empty() ? std::to_string(info.uid) : info.owner)},
      {"group", codec::text(info.group.empty() ? std::to_string(info.gid) : info.group)},
      {"permissions", permissions.data()}};
  if (with_path) out["path"] = codec::text(info.path);
  return out;
}

std::string media_type_of(const std::string& path) {
  const std::string name = base_name(path);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos) {
    const std::string suffix = lowered(name.substr(dot));
    for (const auto& [known, type] : kTypes) {
      if (suffix == known) return std::string(type);
    }
  }
  return "application/octet-stream";
}

}  // namespace cay::api::daytona
