// DiskChange describes how one path of a sandbox's disk differs from the snapshot that it stands
// on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/file.h"

namespace cay {

enum class ChangeKind : std::uint8_t { kAdded, kChanged, kDeleted };

inline constexpr const char* text_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kAdded: return "added";
    case ChangeKind::kChanged: return "changed";
    case ChangeKind::kDeleted: return "deleted";
  }
  return "";
}

struct DiskChange {
  std::string path;  // absolute
  ChangeKind kind = ChangeKind::kAdded;
  std::optional<FileInfo> before{};  // in the snapshot
  std::optional<FileInfo> after{};   // in the sandbox
};

}  // namespace cay
