#include "archive/compressor.h"

#include <archive.h>
#include <archive_entry.h>

#include <new>
#include <utility>

#include "base/freed_by.h"

namespace cay::archive {

void Compressor::Free::operator()(::archive* it) const { archive_write_free(it); }

Compressor::Compressor() : raw_(archive_write_new()) {
  if (!raw_) throw std::bad_alloc();
}

Compressor::~Compressor() = default;

Error Compressor::error() const {
  const char* why = archive_error_string(raw_.get());
  return {Code::kInternal, "tar_error",
          std::string("cannot compress: ") + (why != nullptr ? why : "no reason given"), 0};
}

Result<std::unique_ptr<Compressor>> Compressor::gzip() {
  std::unique_ptr<Compressor> out(new Compressor);
  ::archive* raw = out->raw_.get();
  const auto write = [](::archive*, void* self, const void* bytes, std::size_t size) -> la_ssize_t {
    static_cast<Compressor*>(self)->out_.append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  };
  const std::unique_ptr<::archive_entry, FreedBy<archive_entry_free>> entry(archive_entry_new());
  if (!entry) throw std::bad_alloc();
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  if (archive_write_set_format_raw(raw) != ARCHIVE_OK ||
      archive_write_add_filter_gzip(raw) != ARCHIVE_OK ||
      archive_write_set_filter_option(raw, "gzip", "timestamp", nullptr) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(raw, 1) != ARCHIVE_OK ||
      archive_write_open(raw, out.get(), nullptr, write, nullptr) != ARCHIVE_OK ||
      archive_write_header(raw, entry.get()) != ARCHIVE_OK)
    return out->error();
  return out;
}

Result<void> Compressor::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const la_ssize_t n = archive_write_data(raw_.get(), bytes.data(), bytes.size());
    if (n <= 0) return error();
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> Compressor::close() {
  if (archive_write_close(raw_.get()) != ARCHIVE_OK) return error();
  return {};
}

std::string Compressor::take() { return std::exchange(out_, {}); }

}  // namespace cay::archive
