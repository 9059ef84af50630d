// FilesystemPermission: rules for the file tools, as deepagents has them. Pure.
//
// Paths are absolute globs with "{}", "*", "?" and "**". The first rule that matches decides, and
// without one a call is allowed. Reading covers ls, read_file, glob and grep. Writing covers
// write_file, edit_file and delete.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cay::agent {

enum class FileOperation : std::uint8_t { kRead, kWrite };
enum class FileVerdict : std::uint8_t { kAllow, kDeny, kAsk };

struct FilesystemPermission {
  std::vector<FileOperation> operations;
  std::vector<std::string> paths;
  FileVerdict verdict = FileVerdict::kAllow;
};

// The rules that keep each path, and all below it, read-only or hidden.
std::vector<FilesystemPermission> rules_on(const std::vector<std::string>& read_only,
                                           const std::vector<std::string>& hidden);

class FilePermissions {
 public:
  FilePermissions() = default;
  // Fails kInvalidArgument (invalid_permission): a path that is not absolute, or has ".." or "~".
  static Result<FilePermissions> create(std::vector<FilesystemPermission> rules);

  FileVerdict verdict(FileOperation operation, std::string_view path) const;
  // Whether a deny rule may match something at or below `path`.
  bool may_deny_below(FileOperation operation, std::string_view path) const;
  // Whether a call that names `path` needs an approval. `below`: it works on all below it.
  bool asks(FileOperation operation, std::string_view path, bool below) const;
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    std::vector<FileOperation> operations;
    std::vector<std::string> patterns;  // without braces
    FileVerdict verdict;
  };
  bool may_match_below(FileVerdict verdict, FileOperation operation, std::string_view path) const;
  std::vector<Rule> rules_;
};

}  // namespace cay::agent
