// ContextPacker: the directory of a build as a pax tar, pulled piece by piece. It has regular
// files, directories and symbolic links, sorted by name. A .dockerignore decides what stays out. It
// leaves out sockets, pipes and devices, and reports them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cay/client.h"

namespace cay::client {

class ContextPacker {
 public:
  // `ignore`: the text of a .dockerignore. Fails kNotFound and kPermissionDenied for a root that
  // cannot be read, and kInvalidArgument (not_a_directory, invalid_dockerignore).
  static Result<std::unique_ptr<ContextPacker>> open(const std::filesystem::path& root,
                                                     std::string_view ignore);
  ~ContextPacker();

  // Returns at least 64 KiB unless it is the last piece, and "" at the end. Fails if a file shrinks
  // or cannot be read while it is packed.
  Result<std::string> next();
  const sdk::CopyReport& report() const;

 private:
  struct State;
  explicit ContextPacker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cay::client
