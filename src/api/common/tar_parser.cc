#include "api/common/tar_parser.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <algorithm>
#include <cerrno>

namespace cay::api {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::int64_t kNanos = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 9'000'000'000;  // in nanoseconds within 64 bits

struct ArchiveFree {
  void operator()(archive* it) const { archive_read_free(it); }
};

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
      : side_(side), limits_(limits), tar_(archive_read_new()) {}

  Result<void> run() {
    archive* tar = tar_.get();
    in_header_ = true;
    if (archive_read_support_format_tar(tar) != ARCHIVE_OK ||
        archive_read_open(tar, this, nullptr, &Parser::read_input, nullptr) != ARCHIVE_OK) {
      return broken();
    }
    for (;;) {
      archive_entry* entry = nullptr;
      in_header_ = true;
      header_bytes_ = 0;
      const int got = archive_read_next_header(tar, &entry);
      in_header_ = false;
      if (got == ARCHIVE_EOF) return end();
      if (!acceptable(got)) return broken();
      CAY_TRY(FileInfo info, info_of(entry));
      const bool is_file = info.kind == FileKind::kFile;
      const std::uint64_t size = info.size;
      if (!side_.push(core::TreeEntry{std::move(info)})) return closed();
      if (is_file) {
        CAY_CHECK(contents(size));
      } else if (archive_read_data_skip(tar) != ARCHIVE_OK) {
        return broken();
      }
    }
  }

 private:
  static Error closed() {
    return Error{Code::kCancelled, "cancelled", "nobody reads the archive any more", 0};
  }

  // libarchive's view of the input; the bytes must stay until the next call.
  static la_ssize_t read_input(archive* tar, void* self, const void** bytes) {
    auto& parser = *static_cast<Parser*>(self);
    if (parser.in_header_ && parser.header_bytes_ > parser.limits_.header_bytes) {
      parser.failure_ =
          bad("malformed_tar", "not a tar archive: the headers of an entry are longer than " +
                                   std::to_string(parser.limits_.header_bytes) + " bytes");
    }
    std::optional<Bytes> input;
    if (!parser.failure_ && !parser.input_ended_) {
      input = parser.side_.pull();
      if (!input) parser.failure_ = closed();
    }
    if (parser.failure_) {
      archive_set_error(tar, EIO, "%s", parser.failure_->message.c_str());
      return ARCHIVE_FATAL;
    }
    parser.input_ = std::move(input).value_or(Bytes());
    parser.input_ended_ = parser.input_.empty();
    parser.input_bytes_ += parser.input_.size();
    parser.header_bytes_ += parser.input_.size();
    *bytes = parser.input_.data();
    return static_cast<la_ssize_t>(parser.input_.size());
  }

  // A warning is accepted where names are not of the charset that their header claims (EILSEQ):
  // they are used as the bytes that they are. Other warnings mean records that were passed over,
  // perhaps with a name.
  bool acceptable(int got) const {
    return got == ARCHIVE_OK || (got == ARCHIVE_WARN && archive_errno(tar_.get()) == EILSEQ);
  }

  Error broken() const {
    if (failure_) return *failure_;
    if (input_ended_) return bad("truncated_tar", "the archive ends in the middle");
    const char* why = archive_error_string(tar_.get());
    const std::string reason = why != nullptr ? why : "unreadable";
    return bad("malformed_tar", "not a plain, uncompressed tar archive: " + reason);
  }

  // libarchive takes the end of the input for the end of the archive, with or without a mark.
  Result<void> end() const {
    const auto at = static_cast<std::uint64_t>(archive_read_header_position(tar_.get()));
    if (input_bytes_ <= at) return broken();
    return {};
  }

  Result<FileInfo> info_of(archive_entry* entry) {
    if (++entries_ > limits_.entries) {
      return bad("archive_too_large", "more than " + std::to_string(limits_.entries) + " entries");
    }
    FileInfo info;
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) return bad("malformed_tar", "not a tar archive: an entry without a name");
    CAY_TRY(info.path, safe_entry_path(name, limits_));
    info.uid = static_cast<std::uint32_t>(archive_entry_uid(entry));
    info.gid = static_cast<std::uint32_t>(archive_entry_gid(entry));
    const std::int64_t seconds = archive_entry_mtime(entry);
    if (seconds >= 0) {
      const std::int64_t nanos =
          std::clamp<std::int64_t>(archive_entry_mtime_nsec(entry), 0, kNanos - 1);
      info.mtime_ns = std::min(seconds, kMostSeconds) * kNanos + nanos;
    }
    const auto type = archive_entry_filetype(entry);
    const bool is_plain =
        archive_entry_hardlink(entry) == nullptr && archive_entry_sparse_count(entry) == 0;
    if (type == AE_IFREG && is_plain) {
      info.kind = FileKind::kFile;
      CAY_TRY(info.size, size_of(entry));
    } else if (type == AE_IFDIR && is_plain) {
      info.kind = FileKind::kDirectory;
    } else if (type == AE_IFLNK && is_plain) {
      info.kind = FileKind::kSymlink;
      const char* target = archive_entry_symlink(entry);
      info.target = target != nullptr ? target : "";
      if (info.target.empty() || info.target.size() > limits_.path_bytes) {
        return bad("unsafe_path", "'" + info.path + "' is a link to nothing that can be");
      }
    } else {
      return unsupported(info.path);
    }
    // An archive is a stranger's: it makes no program that runs as its owner. A directory's sticky
    // bit takes rights away only.
    const unsigned taken = info.kind == FileKind::kDirectory ? 01777 : 0777;
    info.mode = static_cast<std::uint32_t>(archive_entry_perm(entry) & taken);
    path_ = info.path;
    return info;
  }

  Result<std::uint64_t> size_of(archive_entry* entry) {
    const la_int64_t size = archive_entry_size(entry);
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
      const void* block = nullptr;
      std::size_t left = 0;
      la_int64_t at = 0;
      const int got = archive_read_data_block(tar_.get(), &block, &left, &at);
      if (got == ARCHIVE_EOF) break;
      if (got != ARCHIVE_OK) return broken();
      if (left == 0) continue;
      if (static_cast<std::uint64_t>(at) != sent || left > size - sent) return unsupported(path_);
      const char* bytes = static_cast<const char*>(block);
      while (left > 0) {
        const std::size_t take = std::min(left, kChunk);
        if (!side_.push(Bytes(bytes, take))) return closed();
        bytes += take;
        left -= take;
        sent += take;
      }
    }
    if (sent != size) return unsupported(path_);
    return {};
  }

  ParserSide& side_;
  TarLimits limits_;
  std::unique_ptr<archive, ArchiveFree> tar_;
  Bytes input_;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t header_bytes_ = 0;  // taken while the present headers are read
  bool in_header_ = false;
  bool input_ended_ = false;
  std::optional<Error> failure_;  // why read_input failed
  std::string path_;              // of the present entry
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<void> parse_tar(ParserSide& side, TarLimits limits) {
  const PlainLocale locale;
  Parser parser(side, limits);
  return parser.run();
}

}  // namespace cay::api
