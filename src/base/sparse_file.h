// SparseFile: fills a new file and leaves out the zeros. A file of another's making may be mostly
// hole; written byte for byte it would take the whole disk.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cay {

class SparseFile {
 public:
  static constexpr std::size_t kBlock = 4096;

  // `fd`: of an empty file that is open for writing and nobody else writes; the caller's, and
  // outlives this.
  explicit SparseFile(int fd) : fd_(fd) {}

  // 0, or the errno. Zeros of a whole block of the file are not written.
  int append(std::string_view bytes) { return write_at(end_, bytes); }
  int write_at(std::uint64_t offset, std::string_view bytes);
  // Gives the file its size, with which zeros at its end come to be.
  int finish(std::uint64_t size);
  int finish() { return finish(end_); }

  // Whether whole blocks go to the disk without the page cache (O_DIRECT) from here on. Bytes that
  // are not aligned to kBlock, in the file and in memory, end that. So does a refusal of the file
  // system.
  void pass_cache_by(bool on);

  // Behind the last byte that was given, zeros too.
  std::uint64_t end() const { return end_; }

 private:
  int put(std::uint64_t offset, std::string_view bytes);

  int fd_;
  std::uint64_t end_ = 0;
  bool direct_ = false;
};

}  // namespace cay
