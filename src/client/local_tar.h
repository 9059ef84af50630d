// LocalTar: writes a pax tar of local files. Its user walks the directory and adds one entry after
// the other. The bytes of a file follow piece by piece.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "archive/tar_writer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "cay/client.h"

namespace cay::client {

class LocalTar {
 public:
  struct Rules {
    std::uint32_t permissions;  // the bits of a mode that are kept
    // The ends of two errors: a file became another kind, or it became shorter.
    std::string_view changed, shorter;
  };
  struct OpenFile {
    UniqueFd fd;
    struct stat facts{};
    std::string path;
  };

  static Result<LocalTar> create(Rules rules);

  // Owners are left out: ids of this host mean nothing inside. It counts in the report.
  Result<void> add(const std::string& name, const struct stat& facts, const std::string& link);
  // Opens a regular file. Fails kNotReady (changed) if something else has taken its place.
  Result<OpenFile> open_file(const std::filesystem::path& path) const;
  // Adds the file, whose bytes pump() moves.
  Result<void> add_file(const std::string& name, OpenFile file);
  bool in_file() const { return static_cast<bool>(file_.fd); }
  // Moves the next piece of the file. Fails kNotReady (changed) if the file became shorter.
  Result<void> pump();
  Result<void> close();

  // Calls step() until 64 KiB are there or the tar is closed, and returns what is there.
  template <class Step>
  Result<std::string> next(const Step& step) {
    while (!closed_ && tar_->size() < kPiece) {
      CAY_CHECK(step());
    }
    return tar_->take();
  }

  sdk::CopyReport& report() { return report_; }
  const sdk::CopyReport& report() const { return report_; }

 private:
  static constexpr std::size_t kPiece = 64 * 1024;

  LocalTar(Rules rules, std::unique_ptr<archive::TarWriter> tar)
      : rules_(rules), tar_(std::move(tar)) {}

  Rules rules_;
  std::unique_ptr<archive::TarWriter> tar_;
  OpenFile file_;
  std::uint64_t left_ = 0;  // of file_
  bool closed_ = false;
  sdk::CopyReport report_;
};

// The target of a symbolic link.
Result<std::string> link_target(const std::filesystem::path& path);

}  // namespace cay::client
