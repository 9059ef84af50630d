// TarReader: libarchive's reader of tar archives, entry by entry, from a stream or a file.
//
// It judges nothing: its users decide which names, kinds and sizes they accept. Only plain tar is
// read from a stream, so nothing in it is larger than what was sent.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct archive;
struct archive_entry;

namespace cay::archive {

// The bytes of an archive, "" at the end.
using TarPull = std::function<Result<std::string>()>;

// The present entry of a reader, until the reader's next step.
class TarEntry {
 public:
  enum class Kind : std::uint8_t { kFile, kDirectory, kSymlink, kOther };

  explicit TarEntry(::archive_entry* entry) : entry_(entry) {}

  std::optional<std::string> name() const;
  Kind kind() const;
  bool is_hard_link() const;
  bool is_fifo() const;
  bool is_device() const;      // of characters or blocks
  bool is_sparse() const;      // its header lists holes
  std::int64_t size() const;   // as the header has it, so it may be negative
  std::uint32_t mode() const;  // the permissions alone, with the setuid, setgid and sticky bits
  std::int64_t uid() const;
  std::int64_t gid() const;
  std::int64_t mtime_seconds() const;
  std::int64_t mtime_nanoseconds() const;
  std::string link_target() const;  // of a symbolic link; "" if it has none
  std::string hard_link_target() const;
  std::map<std::string, std::string> attributes() const;  // extended ones, by name
  // A file that the archive names as left out (codec/left_out.h). nullopt: a usual entry.
  std::optional<std::string> left_out() const;

  ::archive_entry* raw() const { return entry_; }

 private:
  ::archive_entry* entry_;
};

class TarReader {
 public:
  enum class Step : std::uint8_t {
    kDone,
    kDoneButCharset,  // with a name that is not of the charset in its header
    kDoneButWarned,   // libarchive passed something over
    kEnd,             // of the archive, or of an entry's bytes
    kFailed,          // see why()
  };

  // kBytes: a name is the bytes in the archive. kByHeader: its header may name their charset.
  enum class Names : std::uint8_t { kBytes, kByHeader };

  explicit TarReader(TarPull pull, Names names = Names::kBytes);
  explicit TarReader(int fd);  // of an archive that zstd compressed; it outlives this
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // Opens the archive at its first call.
  Step next();
  TarEntry entry() const { return TarEntry(entry_); }  // after a step that is done

  // The next bytes of the entry, at their offset: the holes of a file are skipped.
  struct Block {
    std::string_view bytes;
    std::uint64_t offset = 0;
  };
  Step block(Block& out);
  Step skip_bytes();

  // The failure of the last step: the input's own error, or libarchive's words.
  const std::optional<Error>& input_error() const { return input_error_; }
  std::string why() const;
  int os_errno() const;
  // How many bytes of the archive lie before the present header.
  std::uint64_t header_position() const;

 private:
  struct Free {
    void operator()(::archive* it) const;
  };
  static std::int64_t feed(::archive* tar, void* self, const void** bytes);
  Step step_of(int code) const;
  bool open();

  TarPull pull_;
  int fd_ = -1;
  std::string chunk_;  // libarchive reads it until the next one
  std::optional<Error> input_error_;
  std::unique_ptr<::archive, Free> tar_;
  ::archive_entry* entry_ = nullptr;
  bool is_open_ = false;
};

}  // namespace cay::archive
