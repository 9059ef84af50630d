#include <charconv>

#include "api/common/tar.h"
#include "api/common/tar_header.h"

namespace cay::api {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::int64_t kNanos = 1'000'000'000;

Error bad(std::string reason, std::string message) {
  return Error{Code::kInvalidArgument, std::move(reason), std::move(message), 0};
}

class TarTree : public core::TreeSource {
 public:
  TarTree(std::unique_ptr<ByteSource> tar, TarLimits limits) : tar_(std::move(tar)), limits_(limits) {}

  Task<std::optional<core::TreeEvent>> next() override {
    if (left_ > 0) {
      auto bytes = co_await contents();
      if (!bytes) co_return std::move(bytes).error();
      co_return std::optional<core::TreeEvent>(*std::move(bytes));
    }
    while (!ended_) {
      auto skipped = co_await skip(padding_);
      if (!skipped) co_return std::move(skipped).error();
      padding_ = 0;
      auto block = co_await exactly(kTarBlock);
      if (!block) co_return std::move(block).error();
      auto header = parse_tar_header(*block);
      if (!header) co_return std::move(header).error();
      if (!*header) {
        auto drained = co_await drain();
        if (!drained) co_return std::move(drained).error();
        break;
      }
      const char type = (*header)->type;
      if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
        auto noted = co_await extension(**std::move(header));
        if (!noted) co_return std::move(noted).error();
        continue;
      }
      auto entry = entry_of(**std::move(header));
      if (!entry) co_return std::move(entry).error();
      co_return std::optional<core::TreeEvent>(core::TreeEntry{*std::move(entry)});
    }
    co_return std::optional<core::TreeEvent>();
  }

 private:
  // Makes buffer_ hold something.
  Task<void> fill() {
    if (at_ < buffer_.size()) co_return Result<void>();
    auto got = co_await tar_->next();
    if (!got) co_return std::move(got).error();
    buffer_ = *std::move(got);
    at_ = 0;
    if (buffer_.empty()) co_return bad("truncated_tar", "the archive ends in the middle");
    co_return Result<void>();
  }

  Task<std::string> exactly(std::size_t count) {
    std::string out;
    while (out.size() < count) {
      auto filled = co_await fill();
      if (!filled) co_return std::move(filled).error();
      const std::size_t take = std::min(count - out.size(), buffer_.size() - at_);
      out.append(buffer_, at_, take);
      at_ += take;
    }
    co_return out;
  }

  Task<void> skip(std::size_t count) {
    auto skipped = co_await exactly(count);
    if (!skipped) co_return std::move(skipped).error();
    co_return Result<void>();
  }

  Task<Bytes> contents() {
    auto filled = co_await fill();
    if (!filled) co_return std::move(filled).error();
    const auto take = static_cast<std::size_t>(
        std::min<std::uint64_t>({left_, std::uint64_t{buffer_.size() - at_}, std::uint64_t{kChunk}}));
    Bytes out = buffer_.substr(at_, take);
    at_ += take;
    left_ -= take;
    co_return out;
  }

  // What follows the end mark is padding: it is read, so that the connection stays usable.
  Task<void> drain() {
    ended_ = true;
    for (;;) {
      auto got = co_await tar_->next();
      if (!got) co_return std::move(got).error();
      if (got->empty()) co_return Result<void>();
    }
  }

  Task<void> extension(TarHeader header) {
    if (header.size > limits_.header_bytes) co_return malformed_tar("an extended header is too long");
    const char type = header.type;
    auto body = co_await exactly(static_cast<std::size_t>(header.size));
    if (!body) co_return std::move(body).error();
    padding_ = tar_padding(header.size);
    if (type == 'L' || type == 'K') {
      const std::string value = body->substr(0, body->find('\0'));
      (type == 'L' ? long_name_ : long_link_) = value;
      co_return Result<void>();
    }
    auto records = parse_pax(*body);
    if (!records) co_return std::move(records).error();
    if (type == 'x') pax_ = *std::move(records);  // 'g' says nothing that we use
    co_return Result<void>();
  }

  Result<FileInfo> entry_of(TarHeader header) {
    if (++entries_ > limits_.entries) {
      return bad("archive_too_large", "more than " + std::to_string(limits_.entries) + " entries");
    }
    if (long_name_) header.name = *std::exchange(long_name_, std::nullopt);
    if (long_link_) header.link = *std::exchange(long_link_, std::nullopt);
    if (pax_.contains("path")) header.name = pax_["path"];
    if (pax_.contains("linkpath")) header.link = pax_["linkpath"];
    if (pax_.contains("size")) {
      const std::string& size = pax_["size"];
      const auto [end, failed] = std::from_chars(size.data(), size.data() + size.size(), header.size);
      if (failed != std::errc() || end != size.data() + size.size()) return malformed_tar("bad pax size");
    }
    const bool sparse = pax_.contains("GNU.sparse.major") || pax_.contains("GNU.sparse.size");
    pax_.clear();
    FileInfo info;
    CAY_TRY(info.path, safe_entry_path(header.name, limits_.path_bytes));
    info.mode = header.mode;
    info.uid = header.uid;
    info.gid = header.gid;
    constexpr std::int64_t kMostSeconds = 9'000'000'000;
    info.mtime_ns = std::min(header.mtime, kMostSeconds) * kNanos;
    const bool is_v7_directory = header.type == '\0' && header.name.ends_with('/');
    if (header.type == '5' || is_v7_directory) {
      info.kind = FileKind::kDirectory;
      header.size = 0;
    } else if (header.type == '2') {
      info.kind = FileKind::kSymlink;
      header.size = 0;
      if (header.link.empty() || header.link.size() > limits_.path_bytes ||
          header.link.find('\0') != std::string::npos) {
        return bad("unsafe_path", "'" + info.path + "' is a link to nothing that can be");
      }
      info.target = header.link;
    } else if ((header.type == '0' || header.type == '\0' || header.type == '7') && !sparse) {
      info.kind = FileKind::kFile;
    } else {
      return bad("unsupported_entry", "'" + info.path +
                                          "' is no file, directory or symbolic link (hard links, devices, FIFOs and "
                                          "sparse files are refused): pack it another way");
    }
    info.size = header.size;
    bytes_ += std::min(header.size, limits_.bytes + 1);
    if (bytes_ > limits_.bytes) return bad("archive_too_large", "more than " + std::to_string(limits_.bytes) + " bytes");
    left_ = header.size;
    padding_ = tar_padding(header.size);
    return info;
  }

  std::unique_ptr<ByteSource> tar_;
  TarLimits limits_;
  Bytes buffer_;
  std::size_t at_ = 0;
  std::uint64_t left_ = 0;
  std::size_t padding_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  bool ended_ = false;
  std::optional<std::string> long_name_;
  std::optional<std::string> long_link_;
  std::map<std::string, std::string> pax_;
};

}  // namespace

Result<std::string> safe_entry_path(std::string_view name, std::size_t most) {
  const auto unsafe = [&](const char* why) {
    constexpr std::size_t kShown = 200;
    return bad("unsafe_path", "the archive's entry '" + std::string(name.substr(0, kShown)) + "' " + why);
  };
  if (name.starts_with('/')) return unsafe("has an absolute path");
  if (name.size() > most) return unsafe("has too long a path");
  if (name.find('\0') != std::string_view::npos) return unsafe("holds a NUL");
  std::string out;
  while (!name.empty()) {
    const auto slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == "..") return unsafe("leaves the directory by '..'");
    if (!part.empty() && part != ".") {
      if (!out.empty()) out += '/';
      out += part;
    }
    if (slash == std::string_view::npos) break;
    name.remove_prefix(slash + 1);
  }
  return out;
}

std::unique_ptr<core::TreeSource> tree_of_tar(std::unique_ptr<ByteSource> tar, TarLimits limits) {
  return std::make_unique<TarTree>(std::move(tar), limits);
}

}  // namespace cay::api
