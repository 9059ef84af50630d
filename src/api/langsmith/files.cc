#include "api/langsmith/files.h"

#include "api/common/audit_subjects.h"
#include "api/common/download.h"
#include "api/common/multipart.h"
#include "api/common/request_body.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/upload_body.h"
#include "codec/time.h"
#include "core/ports/runtime.h"
#include "core/verbs/files.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::size_t kMaxBody = 1 << 20;
constexpr std::int64_t kMostMatches = 10'000;
constexpr std::int64_t kNanosPerMilli = 1'000'000;

// Relative paths count from here, as in the clients' documentation.
FileAs as_root() { return FileAs{.user = "", .workdir = "/home/user"}; }

Result<std::string> path_of(const ExchangePtr& exchange) {
  const auto path = exchange->head().query.get("path");
  if (!path || path->empty()) return invalid("no_path", "which file? give ?path=");
  return std::string(*path);
}

struct Search {
  std::string path, pattern, glob;
  std::uint32_t limit = 1000;
};

Task<Search> read_search(ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  Search search;
  if (!fields.read("pattern", search.pattern) || search.pattern.empty())
    fields.complain("pattern", "is needed");
  if (!fields.read("path", search.path) || search.path.empty())
    fields.complain("path", "is needed");
  fields.read("glob", search.glob);
  std::int64_t limit = search.limit;
  fields.read("limit", limit, 1, kMostMatches);
  search.limit = static_cast<std::uint32_t>(limit);
  CAY_CO_CHECK(fields.first_error());
  co_return search;
}

}  // namespace

Task<http::Response> upload(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(std::string path, path_of(exchange));
  const auto type = exchange->head().headers.get("Content-Type");
  auto boundary = boundary_of(type.value_or(""));
  if (!boundary)
    co_return invalid("bad_multipart",
                      "an upload is multipart/form-data with one part named \"file\"");
  exchange->note_subject(path_subject(path));
  core::WriteOptions options;
  options.as = as_root();
  auto bytes = upload_body(*std::move(boundary), exchange->body());
  CAY_CO_TRY(const FileInfo info,
             co_await cay.files().write(exchange->principal(), exchange->params().at("name"),
                                        std::move(path), std::move(options), std::move(bytes)));
  co_return json_answer(200,
                        json::object{{"path", codec::text(info.path)}, {"size_bytes", info.size}});
}

Task<void> download(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(std::string path, path_of(exchange));
  const FilePlace place{exchange->params().at("name"), std::move(path), as_root()};
  const RangeError past_end = [](std::uint64_t size) {
    auto response =
        envelope(416, "ReadError", "the range begins past the end of the file", new_uuid());
    response.headers.set("Content-Range", "bytes */" + std::to_string(size));
    return response;
  };
  auto served = co_await serve_file(cay, exchange, place, past_end);
  co_return served;
}

Task<void> head_download(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(std::string path, path_of(exchange));
  const FilePlace place{exchange->params().at("name"), std::move(path), as_root()};
  auto served = co_await serve_head(cay, exchange, place);
  co_return served;
}

Task<http::Response> glob_files(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(Search search, co_await read_search(exchange));
  CAY_CO_TRY(const GlobResult found,
             co_await cay.files().glob(exchange->principal(), exchange->params().at("name"),
                                       std::move(search.path), std::move(search.pattern), as_root(),
                                       search.limit));
  json::array matches;
  for (const auto& info : found.matches) {
    matches.emplace_back(
        json::object{{"path", codec::text(info.path)},
                     {"is_dir", info.kind == FileKind::kDirectory},
                     {"size_bytes", info.size},
                     {"modified_at", codec::rfc3339(info.mtime_ns / kNanosPerMilli)}});
  }
  co_return json_answer(
      200, json::object{{"matches", std::move(matches)}, {"truncated", found.truncated}});
}

Task<http::Response> grep_files(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(Search search, co_await read_search(exchange));
  CAY_CO_TRY(const GrepResult found,
             co_await cay.files().grep(exchange->principal(), exchange->params().at("name"),
                                       std::move(search.path), std::move(search.pattern),
                                       std::move(search.glob), as_root(), search.limit));
  json::array matches;
  for (const auto& match : found.matches) {
    matches.emplace_back(json::object{{"path", codec::text(match.path)},
                                      {"line", match.line},
                                      {"text", codec::text(match.text)}});
  }
  co_return json_answer(
      200, json::object{{"matches", std::move(matches)}, {"truncated", found.truncated}});
}

}  // namespace cay::api::langsmith
