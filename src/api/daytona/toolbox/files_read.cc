// Reads of files: list, info, search by name, find by content, download.
#include <charconv>

#include "api/common/download.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/file_json.h"
#include "api/daytona/toolbox/files.h"
#include "api/daytona/toolbox/request.h"
#include "core/ports/runtime.h"
#include "core/verbs/file_changes.h"
#include "core/verbs/files.h"

namespace cay::api::daytona {
namespace {

constexpr std::uint32_t kMostFound = 100'000;
constexpr std::uint32_t kDeepest = 64;
constexpr FileFacts kWithNames{.names = true};

Result<std::uint32_t> depth_of(const ExchangePtr& exchange) {
  const std::string text = query_text(exchange, "depth");
  if (text.empty()) return 1u;
  std::uint32_t depth = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, depth);
  if (read.ec == std::errc() && read.ptr == end && depth >= 1)
    return depth < kDeepest ? depth : kDeepest;
  return vendor_error(kBadRequest, "depth must be a number from 1 on");
}

// A result that was cut is an error: a part would pass for the whole.
Error too_many_found(const char* what) {
  return vendor_error(kUnprocessable, std::string("more than 100000 ") + what +
                                          ", or the search took too long: search below a deeper "
                                          "directory");
}

}  // namespace

Task<http::Response> list_files(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::uint32_t depth, depth_of(exchange));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const ListOptions options{.depth = depth, .facts = kWithNames};
  CAY_CO_TRY(const auto found,
             co_await cay.file_changes().list_levels(
                 box.who, box.ref, box.absolute(query_text(exchange, "path")), box.as(), options));
  codec::json::array out;
  for (const FileInfo& info : found) out.emplace_back(file_json(info, true));
  co_return json_answer(200, out);
}

Task<http::Response> file_info(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const FileInfo info,
             co_await cay.file_changes().describe(box.who, box.ref, box.absolute(path), box.as(),
                                                  true, kWithNames));
  co_return json_answer(200, file_json(info, true));
}

// A pattern is matched against the last part of each path.
Task<http::Response> search_files(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const std::string pattern, needed_query(exchange, "pattern"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  codec::json::array files;
  if (pattern.find('/') == std::string::npos) {
    CAY_CO_TRY(const GlobResult found,
               co_await cay.files().glob(box.who, box.ref, box.absolute(path), "**/" + pattern,
                                         box.as(), kMostFound));
    if (found.truncated) co_return too_many_found("names match");
    for (const FileInfo& info : found.matches) files.emplace_back(codec::text(info.path));
  }
  co_return json_answer(200, codec::json::object{{"files", std::move(files)}});
}

Task<http::Response> find_in_files(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const std::string pattern, needed_query(exchange, "pattern"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const GrepResult found, co_await cay.files().grep(box.who, box.ref, box.absolute(path),
                                                               pattern, "", box.as(), kMostFound));
  if (found.truncated) co_return too_many_found("lines match");
  codec::json::array out;
  for (const GrepMatch& match : found.matches) {
    out.emplace_back(codec::json::object{{"file", codec::text(match.path)},
                                         {"line", match.line},
                                         {"content", codec::text(match.text)}});
  }
  co_return json_answer(200, out);
}

Task<void> download_file(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const FilePlace place{box.ref, box.absolute(path), box.as()};
  const RangeError past_end = [exchange](std::uint64_t size) {
    const Error error = vendor_error(kBadRequest, "the range begins past the end of the file");
    auto response =
        refused(exchange->head(), Plane::kToolbox, Refusal{416, "BAD_REQUEST"}, error.message);
    response.headers.set("Content-Range", "bytes */" + std::to_string(size));
    return response;
  };
  auto served = co_await serve_file(cay, exchange, place, past_end);
  co_return served;
}

}  // namespace cay::api::daytona
