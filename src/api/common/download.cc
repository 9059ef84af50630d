#include "api/common/download.h"

#include "api/common/ranges.h"
#include "api/common/source.h"
#include "codec/model_json.h"
#include "codec/time.h"
#include "core/ports/runtime.h"
#include "core/verbs/files.h"

namespace cay::api {
namespace {

constexpr std::int64_t kNanos = 1'000'000'000;

std::string modified(const FileInfo& info) { return codec::http_date(info.mtime_ns / kNanos); }

Error is_directory(const std::string& path) {
  return invalid("is_a_directory", "'" + path + "' is a directory");
}

http::Response not_modified(const FileInfo& info) {
  http::Response response;
  response.status = 304;
  response.headers.add("ETag", codec::etag(info));
  response.headers.add("Last-Modified", modified(info));
  return response;
}

// Answers 304 if the client has the file already, and returns whether it did.
asio::awaitable<bool> told_not_modified(ExchangePtr exchange, FileInfo info) {
  const auto none_match = exchange->head().headers.get("If-None-Match");
  if (!none_match || !none_match_hits(*none_match, codec::etag(info))) co_return false;
  co_await exchange->respond(not_modified(info));
  co_return true;
}

Task<void> serve_whole(ExchangePtr exchange, core::FileStream file) {
  auto headers = file_headers(file.info);
  // Files of /proc and the like report size 0 and have content, so they get no length.
  std::optional<std::uint64_t> length;
  auto bytes = std::move(file.bytes);
  if (file.info.size > 0) {
    length = file.info.size;
    bytes = exactly(std::move(bytes), file.info.size);
  }
  co_await exchange->respond_stream(200, std::move(headers), length, std::move(bytes));
  co_return Result<void>();
}

Task<void> serve_part(ExchangePtr exchange, core::FileStream file, ByteRange range) {
  const std::uint64_t length = range.last - range.first + 1;
  auto headers = file_headers(file.info);
  headers.add("Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                   std::to_string(range.last) + "/" +
                                   std::to_string(file.info.size));
  auto bytes = exactly(std::move(file.bytes), length);
  co_await exchange->respond_stream(206, std::move(headers), length, std::move(bytes));
  co_return Result<void>();
}

}  // namespace

http::Headers file_headers(const FileInfo& info) {
  http::Headers headers;
  headers.add("Content-Type", "application/octet-stream");
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("ETag", codec::etag(info));
  headers.add("Last-Modified", modified(info));
  headers.add("Accept-Ranges", "bytes");
  headers.add("X-Cay-Kind", std::string(codec::kind_text(info.kind)));
  headers.add("X-Cay-Mode", codec::mode_text(info.mode));
  headers.add("X-Cay-Uid", std::to_string(info.uid));
  headers.add("X-Cay-Gid", std::to_string(info.gid));
  return headers;
}

Task<void> serve_file(core::Cay& cay, ExchangePtr exchange, FilePlace place,
                      RangeError range_error) {
  const Principal who = exchange->principal();
  const http::Headers& asked = exchange->head().headers;
  const bool conditional = asked.get("Range") || asked.get("If-None-Match");
  if (!conditional) {
    auto file = co_await cay.files().read(who, place.ref, place.path, place.as, core::ReadRange{});
    if (!file) co_return std::move(file).error();
    if (file->info.kind == FileKind::kDirectory) co_return is_directory(place.path);
    auto served = co_await serve_whole(exchange, *std::move(file));
    co_return served;
  }
  // The file may change between the look and the read: what is read must be what was looked at.
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    auto info = co_await cay.files().stat(who, place.ref, place.path, place.as, true);
    if (!info) co_return std::move(info).error();
    if (info->kind == FileKind::kDirectory) co_return is_directory(place.path);
    const Wanted wanted = wanted_of(asked, codec::etag(*info), modified(*info), info->size);
    if (wanted.not_modified) {
      co_await exchange->respond(not_modified(*info));
      co_return Result<void>();
    }
    if (wanted.range.kind == RangeKind::kUnsatisfiable) {
      auto response = range_error(info->size);
      response.headers.set("Content-Range", "bytes */" + std::to_string(info->size));
      co_await exchange->respond(std::move(response));
      co_return Result<void>();
    }
    core::ReadRange range;
    const bool part = wanted.range.kind == RangeKind::kPart;
    if (part) {
      range.offset = wanted.range.range.first;
      range.length =
          static_cast<std::int64_t>(wanted.range.range.last - wanted.range.range.first + 1);
    }
    auto file = co_await cay.files().read(who, place.ref, place.path, place.as, range);
    if (!file) co_return std::move(file).error();
    if (codec::etag(file->info) != codec::etag(*info)) continue;
    if (!part) {
      auto whole = co_await serve_whole(exchange, *std::move(file));
      co_return whole;
    }
    auto served = co_await serve_part(exchange, *std::move(file), wanted.range.range);
    co_return served;
  }
  co_return Error{Code::kConflict, "file_changing",
                  "'" + place.path + "' changes faster than it can be read: retry", 0};
}

Task<void> serve_head(core::Cay& cay, ExchangePtr exchange, FilePlace place) {
  // Opened, and not a byte of it read. Ranges are GET's alone (RFC 9110, 14.2).
  auto file = co_await cay.files().read(exchange->principal(), place.ref, place.path, place.as,
                                        core::ReadRange{.offset = 0, .length = 0});
  if (!file) co_return std::move(file).error();
  if (file->info.kind == FileKind::kDirectory) co_return is_directory(place.path);
  const bool told = co_await told_not_modified(exchange, file->info);
  if (told) co_return Result<void>();
  auto served = co_await serve_whole(exchange, *std::move(file));
  co_return served;
}

Task<void> serve_stat(core::Cay& cay, ExchangePtr exchange, FilePlace place, bool follow) {
  const Principal who = exchange->principal();
  auto info = co_await cay.files().stat(who, place.ref, place.path, place.as, follow);
  if (!info) co_return std::move(info).error();
  const bool told = co_await told_not_modified(exchange, *info);
  if (told) co_return Result<void>();
  auto headers = file_headers(*info);
  const std::uint64_t size = info->kind == FileKind::kFile ? info->size : 0;
  auto nothing = source_of({});
  co_await exchange->respond_stream(200, std::move(headers), size, std::move(nothing));
  co_return Result<void>();
}

}  // namespace cay::api
