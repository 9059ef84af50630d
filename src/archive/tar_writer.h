// TarWriter: libarchive's writer of tar archives, into memory or into a file that zstd compresses.
// The format is pax restricted: ustar, with pax headers for long names, links and numbers.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "archive/tar_reader.h"
#include "base/result.h"

namespace cay::archive {

// The header of an entry.
struct TarHeader {
  std::string
      name;  // as it is written: of a directory with a '/' at its end, if there is to be one
  TarEntry::Kind kind = TarEntry::Kind::kFile;
  std::uint64_t size = 0;  // of a file
  std::uint32_t mode = 0;  // permissions
  std::uint32_t uid = 0, gid = 0;
  std::int64_t mtime_seconds = 0;
  std::int64_t mtime_nanoseconds = 0;
  std::string link_target{};  // of a symbolic link
  std::string left_out{};     // a path that the archive leaves out (codec/left_out.h)
  std::string hard_link{};    // to an earlier name; then it is no file of its own
  bool is_fifo = false;       // instead of `kind`
  std::map<std::string, std::string> attributes{};  // extended ones
};

class TarWriter {
 public:
  enum class Blocks : std::uint8_t {
    kAsTheyCome,  // bytes come out with the call that wrote them
    kOfTape,      // in blocks of 10 KiB, the last one as short as it is
  };

  // Into memory: see take(). All fail kInternal: tar_error.
  static Result<std::unique_ptr<TarWriter>> into_memory(Blocks blocks);
  // Into `fd`, which outlives it, compressed by zstd.
  static Result<std::unique_ptr<TarWriter>> into_file(int fd);
  // Leaves an entry that is not whole as it is: its file would be filled to the size in its header.
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  Result<void> add(const TarHeader& header);
  Result<void> add(::archive_entry* entry);
  // Returns how many bytes the entry still took: fewer if it is full.
  Result<std::size_t> write(std::string_view bytes);
  Result<void> end_entry();
  Result<void> close();

  std::size_t size() const { return out_.size(); }
  std::string take();  // the bytes that were written since

 private:
  struct Free {
    void operator()(::archive* it) const;
  };
  TarWriter();
  static std::int64_t append(::archive* tar, void* self, const void* bytes, std::size_t size);
  Error error() const;

  std::string out_;
  bool left_behind_ = false;              // this is being destroyed
  std::unique_ptr<::archive, Free> tar_;  // last: its end calls append()
};

}  // namespace cay::archive
