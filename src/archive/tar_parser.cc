#include "archive/tar_parser.h"

#include <locale.h>

#include <algorithm>
#include <utility>

#include "archive/tar_reader.h"

namespace cay::archive {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::int64_t kNanos = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 9'000'000'000;  // in nanoseconds within 64 bits

Error bad(std::string reason, std::string message) {
  return Error{Code::kInvalidArgument, std::move(reason), std::move(message), 0};
}

// In the C locale libarchive gives names as the bytes they are; in others it may normalise them.
class PlainLocale {
 public:
  PlainLocale() : plain_(::newlocale(LC_ALL_MASK, "C", nullptr)), before_(::uselocale(plain_)) {}
  ~PlainLocale() {
    ::uselocale(before_);
    if (plain_ != nullptr) ::freelocale(plain_);
  }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t plain_;
  locale_t before_;
};

class Parser {
 public:
  Parser(ParserSide& side, TarLimits limits)
      : side_(side),
        limits_(limits),
        tar_([this] { return read_input(); }, TarReader::Names::kByHeader) {}

  Result<void> run() {
    for (;;) {
      in_header_ = true;
      header_bytes_ = 0;
      const TarReader::Step got = tar_.next();
      in_header_ = false;
      if (got == TarReader::Step::kEnd) return end();
      // libarchive warns of names that are not of the charset in their header: they are used as the
      // bytes that they are. Its other warnings mean that it passed records over, perhaps a name.
      if (got != TarReader::Step::kDone && got != TarReader::Step::kDoneButCharset) return broken();
      CAY_TRY(FileInfo info, info_of(tar_.entry()));
      const bool is_file = info.kind == FileKind::kFile;
      const std::uint64_t size = info.size;
      if (!side_.push(std::move(info))) return closed();
      if (is_file) {
        CAY_CHECK(contents(size));
      } else if (tar_.skip_bytes() != TarReader::Step::kDone) {
        return broken();
      }
    }
  }

 private:
  static Error closed() {
    return Error{Code::kCancelled, "cancelled", "nobody reads the archive any more", 0};
  }

  Result<std::string> read_input() {
    if (in_header_ && header_bytes_ > limits_.header_bytes) {
      return bad("malformed_tar", "not a tar archive: the headers of an entry are longer than " +
                                      std::to_string(limits_.header_bytes) + " bytes");
    }
    if (tar_.input_error()) return *tar_.input_error();
    if (input_ended_) return std::string();
    auto input = side_.pull();
    if (!input) return closed();
    input_ended_ = input->empty();
    input_bytes_ += input->size();
    header_bytes_ += input->size();
    return *std::move(input);
  }

  Error broken() const {
    if (tar_.input_error()) return *tar_.input_error();
    if (input_ended_) return bad("truncated_tar", "the archive ends in the middle");
    return bad("malformed_tar", "not a plain, uncompressed tar archive: " + tar_.why());
  }

  // libarchive takes the end of the input for the end of the archive, with or without a mark.
  Result<void> end() const {
    if (input_bytes_ <= tar_.header_position()) return broken();
    return {};
  }

  Result<FileInfo> info_of(const TarEntry& entry) {
    if (++entries_ > limits_.entries) {
      return bad("archive_too_large", "more than " + std::to_string(limits_.entries) + " entries");
    }
    FileInfo info;
    const auto name = entry.name();
    if (!name) return bad("malformed_tar", "not a tar archive: an entry without a name");
    CAY_TRY(info.path, safe_entry_path(*name, limits_));
    info.uid = static_cast<std::uint32_t>(entry.uid());
    info.gid = static_cast<std::uint32_t>(entry.gid());
    const std::int64_t seconds = entry.mtime_seconds();
    if (seconds >= 0) {
      const std::int64_t nanos = std::clamp<std::int64_t>(entry.mtime_nanoseconds(), 0, kNanos - 1);
      info.mtime_ns = std::min(seconds, kMostSeconds) * kNanos + nanos;
    }
    if (entry.is_hard_link()) return unsupported(info.path);
    if (entry.is_sparse()) return unsupported(info.path);
    switch (entry.kind()) {
      case TarEntry::Kind::kFile: {
        info.kind = FileKind::kFile;
        CAY_TRY(info.size, size_of(entry));
        break;
      }
      case TarEntry::Kind::kDirectory: info.kind = FileKind::kDirectory; break;
      case TarEntry::Kind::kSymlink:
        info.kind = FileKind::kSymlink;
        info.target = entry.link_target();
        if (info.target.empty() || info.target.size() > limits_.path_bytes)
          return bad("unsafe_path", "'" + info.path + "' is a link to nothing that can be");
        break;
      case TarEntry::Kind::kOther: return unsupported(info.path);
    }
    // An archive is a stranger's: it makes no program that runs as its owner. A directory's sticky
    // bit takes rights away only.
    const unsigned taken = info.kind == FileKind::kDirectory ? 01777 : 0777;
    info.mode = entry.mode() & taken;
    path_ = info.path;
    return info;
  }

  Result<std::uint64_t> size_of(const TarEntry& entry) {
    const std::int64_t size = entry.size();
    if (size < 0) return bad("malformed_tar", "not a tar archive: a file of negative size");
    bytes_ += std::min(static_cast<std::uint64_t>(size), limits_.bytes + 1);
    if (bytes_ > limits_.bytes) {
      return bad("archive_too_large", "more than " + std::to_string(limits_.bytes) + " bytes");
    }
    return static_cast<std::uint64_t>(size);
  }

  static Error unsupported(const std::string& path) {
    return bad("unsupported_entry",
               "'" + path +
                   "' is no file, directory or symbolic link (hard links, devices, FIFOs and "
                   "sparse files are refused): pack it another way");
  }

  // Reads exactly `size` bytes. A hole means a sparse file without a sparse header.
  Result<void> contents(std::uint64_t size) {
    std::uint64_t sent = 0;
    for (;;) {
      TarReader::Block block;
      const TarReader::Step got = tar_.block(block);
      if (got == TarReader::Step::kEnd) break;
      if (got != TarReader::Step::kDone) return broken();
      std::string_view left = block.bytes;
      if (left.empty()) continue;
      if (block.offset != sent || left.size() > size - sent) return unsupported(path_);
      while (!left.empty()) {
        const std::string_view piece = left.substr(0, kChunk);
        if (!side_.push(std::string(piece))) return closed();
        left.remove_prefix(piece.size());
        sent += piece.size();
      }
    }
    if (sent != size) return unsupported(path_);
    return {};
  }

  ParserSide& side_;
  TarLimits limits_;
  TarReader tar_;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t header_bytes_ = 0;  // taken while the present headers are read
  bool in_header_ = false;
  bool input_ended_ = false;
  std::string path_;  // of the present entry
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<void> parse_tar(ParserSide& side, TarLimits limits) {
  const PlainLocale locale;
  Parser parser(side, limits);
  return parser.run();
}

}  // namespace cay::archive
