// TarPacker: a local file or directory as a pax tar, pulled piece by piece. Regular files,
// directories and symbolic links. It leaves out other kinds, and names that are too deep or too
// long for a sandbox, and reports them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "cay/client.h"

namespace cay::client {

class TarPacker {
 public:
  // `root`: a directory (its contents become the tar's) or a file (one entry of its name).
  // kNotFound, kPermissionDenied: it cannot be read.
  static Result<std::unique_ptr<TarPacker>> open(const std::filesystem::path& root);
  ~TarPacker();

  // Returns at least 64 KiB unless it is the last piece, and "" at the end. Fails if a file shrinks
  // or cannot be read while it is packed, since the archive would not be the requested one.
  Result<std::string> next();
  const sdk::CopyReport& report() const;

 private:
  struct State;
  explicit TarPacker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cay::client
