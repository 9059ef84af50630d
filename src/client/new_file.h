// NewFile: a file of this machine that has no name until it is whole. One that breaks off, by an
// error or a kill, leaves nothing.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::client {

class NewFile {
 public:
  // In the directory `dir`, which outlives this; mode 0600. `shown`: what errors call it.
  static Result<NewFile> create(int dir, std::string shown);
  // The same where a file system makes none without a name: with a hidden one, which goes with
  // this.
  static Result<NewFile> create_hidden(int dir, std::string shown);
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int fd() const { return file_.get(); }
  // Gives it its name. A file or link of that name is replaced, atomically and not followed; Fails:
  // kAlreadyExists "is_a_directory".
  Result<void> commit(const std::string& name);

 private:
  NewFile(int dir, std::string shown, UniqueFd file, std::string hidden)
      : dir_(dir), shown_(std::move(shown)), file_(std::move(file)), hidden_(std::move(hidden)) {}
  int link_as(const std::string& name) const;

  int dir_;
  std::string shown_;
  UniqueFd file_;
  std::string hidden_;  // its name before it has one; empty: none
};

// Returns the error for a copy: from a local file's errno, or for what is no file here or too
// large.
Error local_error(int err, const std::string& shown);
Error is_a_directory(const std::string& shown);
Error copy_too_large(const std::string& shown, std::uint64_t most);

}  // namespace cay::client
