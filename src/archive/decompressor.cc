#include "archive/decompressor.h"

#include <archive.h>
#include <archive_entry.h>

#include <new>
#include <string_view>
#include <utility>

namespace cay::archive {
namespace {

constexpr std::string_view kGzip("\x1f\x8b", 2);
constexpr std::string_view kZstd("\x28\xb5\x2f\xfd", 4);

}  // namespace

void Decompressor::Free::operator()(::archive* it) const { archive_read_free(it); }

Decompressor::Decompressor(TarPull pull) : pull_(std::move(pull)) {}
Decompressor::~Decompressor() = default;

std::int64_t Decompressor::feed(::archive* raw, void* self, const void** bytes) {
  auto& us = *static_cast<Decompressor*>(self);
  auto got = us.pull();
  if (!got) {
    archive_set_error(raw, EIO, "%s", got.error().message.c_str());
    us.input_error_ = std::move(got).error();
    return ARCHIVE_FATAL;
  }
  us.chunk_ = *std::move(got);
  *bytes = us.chunk_.data();
  return static_cast<std::int64_t>(us.chunk_.size());
}

Result<std::string> Decompressor::pull() {
  if (!begin_.empty()) return std::exchange(begin_, {});
  return pull_();
}

Error Decompressor::broken() const {
  if (input_error_) return *input_error_;
  const char* why = archive_error_string(raw_.get());
  return {Code::kInvalidArgument, "bad_compression",
          std::string("the compressed bytes are broken or cut off: ") +
              (why != nullptr ? why : "no reason given"),
          0};
}

Result<void> Decompressor::open() {
  is_open_ = true;
  while (begin_.size() < kZstd.size()) {
    CAY_TRY(const std::string more, pull_());
    if (more.empty()) break;
    begin_ += more;
  }
  const bool is_gzip = begin_.starts_with(kGzip);
  is_plain_ = !is_gzip && !begin_.starts_with(kZstd);
  if (is_plain_) return {};
  raw_.reset(archive_read_new());
  if (!raw_) throw std::bad_alloc();
  archive_read_support_format_raw(raw_.get());
  const auto read = [](::archive* from, void* self, const void** bytes) -> la_ssize_t {
    return static_cast<la_ssize_t>(feed(from, self, bytes));
  };
  // One filter that is named: libarchive's own search would apply as many as it finds.
  if (archive_read_append_filter(raw_.get(), is_gzip ? ARCHIVE_FILTER_GZIP : ARCHIVE_FILTER_ZSTD) !=
          ARCHIVE_OK ||
      archive_read_open(raw_.get(), this, nullptr, read, nullptr) != ARCHIVE_OK)
    return broken();
  ::archive_entry* entry = nullptr;
  if (archive_read_next_header(raw_.get(), &entry) != ARCHIVE_OK) return broken();
  return {};
}

Result<std::string> Decompressor::next() {
  if (!is_open_) {
    CAY_CHECK(open());
  }
  if (is_plain_) return pull();
  for (;;) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(raw_.get(), &bytes, &size, &offset);
    if (code == ARCHIVE_EOF) return std::string();
    if (code != ARCHIVE_OK) return broken();
    if (size > 0) return std::string(static_cast<const char*>(bytes), size);
  }
}

}  // namespace cay::archive
