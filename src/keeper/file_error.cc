#include "keeper/file_error.h"

#include <cerrno>
#include <system_error>

namespace cay::keeper {
namespace {

struct Meaning {
  int err;
  Code code;
  const char* reason;
  const char* words;  // nullptr: the system's
};

constexpr Meaning kMeanings[] = {
    {ENOENT, Code::kNotFound, "file_not_found", "no such file or directory"},
    {ENOTDIR, Code::kInvalidArgument, "not_a_directory", "a part of the path is not a directory"},
    {EISDIR, Code::kInvalidArgument, "is_a_directory", "is a directory"},
    {EACCES, Code::kPermissionDenied, "permission_denied", "permission denied"},
    {EPERM, Code::kPermissionDenied, "permission_denied", "operation not permitted"},
    {EROFS, Code::kPermissionDenied, "read_only", "the file system is read-only"},
    {EEXIST, Code::kAlreadyExists, "already_exists", "already exists"},
    {ENOTEMPTY, Code::kConflict, "directory_not_empty",
     "the directory is not empty: remove it recursively"},
    {EBUSY, Code::kConflict, "busy", "is in use by the sandbox itself"},
    {ETXTBSY, Code::kConflict, "busy", "the program is being executed"},
    {EXDEV, Code::kUnsupported, "cross_device",
     "cannot be renamed to another file system: copy and remove it"},
    {ENOSPC, Code::kExhausted, "disk_full",
     "no space is left: the host's pool of disks, or this file system in memory, is full"},
    {EDQUOT, Code::kExhausted, "disk_full",
     "the disk limit is reached: the sandbox's, or that of the volume here"},
    {EFBIG, Code::kExhausted, "disk_full", "the file would be too large"},
    {ENOMEM, Code::kExhausted, "memory_limit", "the sandbox is out of memory"},
    {ELOOP, Code::kInvalidArgument, "symlink_loop", "too many symbolic links"},
    {ENAMETOOLONG, Code::kInvalidArgument, "bad_path", "the path is too long"},
    {EINVAL, Code::kInvalidArgument, "bad_path", nullptr},
    {ENXIO, Code::kInvalidArgument, "not_a_regular_file", "is not a regular file"},
    {EAGAIN, Code::kConflict, "busy", "another process holds a lease on it"},
};

}  // namespace

Error file_error(int err, const std::string& path) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.err != err) continue;
    const std::string words =
        meaning.words != nullptr ? meaning.words : std::generic_category().message(err);
    return {meaning.code, meaning.reason, path + ": " + words, err};
  }
  return Error::from_errno(err, path, "file_error");
}

Error is_a_directory(const std::string& path) { return file_error(EISDIR, path); }

Error not_a_regular_file(const std::string& path) {
  return {Code::kInvalidArgument, "not_a_regular_file", path + ": is not a regular file", 0};
}

}  // namespace cay::keeper
