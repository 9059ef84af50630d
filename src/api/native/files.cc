// Routes about files.
#include "api/common/answer_size.h"
#include "api/common/audit_subjects.h"
#include "api/common/download.h"
#include "api/common/tar.h"
#include "api/native/handlers.h"
#include "api/native/items.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/utf8.h"
#include "core/ports/runtime.h"
#include "core/verbs/file_changes.h"
#include "core/verbs/files.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::int64_t kDefaultMatches = 1000;
constexpr std::int64_t kMostMatches = 100'000;
constexpr std::uint64_t kMostLevels = 64;

Result<FilePlace> place_of(http::Exchange& exchange) {
  FilePlace out;
  out.ref = param(exchange, "ref");
  CAY_TRY(out.path, query_path(exchange));
  out.as = query_as(exchange);
  return out;
}

http::Response range_error(std::uint64_t size) {
  const Error error{Code::kOutOfRange, "range_past_end",
                    "the file has " + std::to_string(size) + " bytes", 0};
  return native_error(error, note_error(error));
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// Returns the size as codec::to_json writes it, or a little more, before anything is built of names
// that code inside chose.
std::uint64_t json_size(const FileInfo& info) {
  constexpr std::uint64_t kFixed = 205;  // names of members, the longest numbers
  constexpr std::uint64_t kMember = 20;
  std::uint64_t size = kFixed + text_size(info.path);
  if (!codec::is_utf8(info.path)) size += kMember + bytes_size(info.path);
  if (info.kind == FileKind::kSymlink) size += kMember + text_size(info.target);
  size += 2 * kMember + text_size(info.owner) + text_size(info.group);
  for (const auto& [name, value] : info.xattrs)
    size += 2 * kMember + text_size(name) + bytes_size(value);
  return size;
}
std::uint64_t json_size(const GrepMatch& match) {
  constexpr std::uint64_t kFixed = 55;
  constexpr std::uint64_t kMember = 20;
  std::uint64_t size = kFixed + text_size(match.path) + text_size(match.text);
  if (!codec::is_utf8(match.path)) size += kMember + bytes_size(match.path);
  return size;
}

template <class Item>
Result<array> entries_json(const std::vector<Item>& found) {
  return items_json(
      found, [](const Item& item) { return json_size(item); }, "entries",
      "request a smaller part, or set a limit");
}

// ?names= and ?xattrs=
Result<FileFacts> query_facts(http::Exchange& exchange) {
  FileFacts out;
  CAY_TRY(out.names, query_bool(exchange, "names", false));
  CAY_TRY(out.xattrs, query_bool(exchange, "xattrs", false));
  return out;
}
Result<ListOptions> list_options_of(http::Exchange& exchange) {
  ListOptions out;
  CAY_TRY(out.facts, query_facts(exchange));
  CAY_TRY(const std::uint64_t depth, query_number(exchange, "depth", 1, 1, kMostLevels));
  out.depth = static_cast<std::uint32_t>(depth);
  return out;
}

// A search request's common members.
struct Search {
  std::string path = "/";
  std::string what;
  std::string glob;
  std::uint32_t limit = static_cast<std::uint32_t>(kDefaultMatches);
  FileAs as;
};
Result<Search> search_of(const object& body, std::string_view what) {
  Search out;
  codec::Fields fields(body);
  fields.read("path", out.path);
  if (!fields.read(what, out.what) && fields.ok()) fields.complain(what, "is needed");
  if (what == "text") fields.read("glob", out.glob);
  std::int64_t limit = kDefaultMatches;
  fields.read("limit", limit, 1, kMostMatches);
  out.limit = static_cast<std::uint32_t>(limit);
  fields.read("user", out.as.user);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

}  // namespace

Task<void> read_file(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  auto served = co_await serve_file(cay, exchange, *std::move(place), range_error);
  co_return served;
}

Task<void> head_file(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  auto follow = query_bool(*exchange, "follow", true);
  if (!follow) co_return std::move(follow).error();
  auto served = co_await serve_stat(cay, exchange, *std::move(place), *follow);
  co_return served;
}

Task<http::Response> write_file(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  exchange->note_subject(path_subject(place->path));
  core::WriteOptions options;
  options.as = place->as;
  if (const auto mode = exchange->head().query.get("mode")) {
    const auto bits = codec::mode_from(*mode);
    if (!bits) co_return invalid("invalid_query", "mode= must be octal: 0644");
    options.mode = *bits;
    options.keep_mode = false;
  }
  auto exclusive = query_bool(*exchange, "exclusive", false);
  if (!exclusive) co_return std::move(exclusive).error();
  options.exclusive = *exclusive;
  auto body = exchange->body();
  auto info = co_await cay.files().write(exchange->principal(), place->ref, place->path, options,
                                         std::move(body));
  if (!info) co_return std::move(info).error();
  co_return json_answer(201, codec::to_json(*info));
}

Task<http::Response> remove_file(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  exchange->note_subject(path_subject(place->path));
  auto recursive = query_bool(*exchange, "recursive", false);
  if (!recursive) co_return std::move(recursive).error();
  auto gone = co_await cay.files().remove(exchange->principal(), place->ref, place->path, place->as,
                                          *recursive);
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<http::Response> stat_file(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  auto follow = query_bool(*exchange, "follow", true);
  if (!follow) co_return std::move(follow).error();
  auto facts = query_facts(*exchange);
  if (!facts) co_return std::move(facts).error();
  Result<FileInfo> info;
  if (facts->names || facts->xattrs) {
    info = co_await cay.file_changes().describe(exchange->principal(), place->ref, place->path,
                                                place->as, *follow, *facts);
  } else {
    info = co_await cay.files().stat(exchange->principal(), place->ref, place->path, place->as,
                                     *follow);
  }
  if (!info) co_return std::move(info).error();
  co_return json_answer(200, codec::to_json(*info));
}

Task<http::Response> list_files(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  auto options = list_options_of(*exchange);
  if (!options) co_return std::move(options).error();
  Result<std::vector<FileInfo>> got;
  if (options->depth > 1 || options->facts.names || options->facts.xattrs) {
    got = co_await cay.file_changes().list_levels(exchange->principal(), place->ref, place->path,
                                                  place->as, *options);
  } else {
    got = co_await cay.files().list(exchange->principal(), place->ref, place->path, place->as);
  }
  if (!got) co_return std::move(got).error();
  auto items = entries_json(*got);
  if (!items) co_return std::move(items).error();
  co_return json_answer(200, object{{"items", *std::move(items)}});
}

Task<http::Response> make_directory(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::string path;
  std::string mode_text = "0755";
  FileAs as;
  if (!fields.read("path", path) && fields.ok()) fields.complain("path", "is needed");
  fields.read("mode", mode_text);
  fields.read("user", as.user);
  const auto mode = codec::mode_from(mode_text);
  if (!mode) fields.complain("mode", "must be octal: \"0755\"");
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(path_subject(path));
  auto made = co_await cay.files().make_directory(exchange->principal(), param(*exchange, "ref"),
                                                  path, as, *mode);
  if (!made) co_return std::move(made).error();
  co_return empty_answer(204);
}

Task<http::Response> rename_file(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::string from;
  std::string to;
  FileAs as;
  if (!fields.read("from", from) && fields.ok()) fields.complain("from", "is needed");
  if (!fields.read("to", to) && fields.ok()) fields.complain("to", "is needed");
  fields.read("user", as.user);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(path_subject(from) + " to " + path_subject(to));
  auto moved =
      co_await cay.files().rename(exchange->principal(), param(*exchange, "ref"), from, to, as);
  if (!moved) co_return std::move(moved).error();
  co_return empty_answer(204);
}

Task<http::Response> glob_files(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto search = search_of(*body, "pattern");
  if (!search) co_return std::move(search).error();
  auto got = co_await cay.files().glob(exchange->principal(), param(*exchange, "ref"), search->path,
                                       search->what, search->as, search->limit);
  if (!got) co_return std::move(got).error();
  auto items = entries_json(got->matches);
  if (!items) co_return std::move(items).error();
  co_return json_answer(200, object{{"items", *std::move(items)}, {"truncated", got->truncated}});
}

Task<http::Response> grep_files(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto search = search_of(*body, "text");
  if (!search) co_return std::move(search).error();
  auto got = co_await cay.files().grep(exchange->principal(), param(*exchange, "ref"), search->path,
                                       search->what, search->glob, search->as, search->limit);
  if (!got) co_return std::move(got).error();
  auto items = entries_json(got->matches);
  if (!items) co_return std::move(items).error();
  co_return json_answer(200, object{{"items", *std::move(items)}, {"truncated", got->truncated}});
}

Task<void> read_tree(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  auto tree =
      co_await cay.files().read_tree(exchange->principal(), place->ref, place->path, place->as);
  if (!tree) co_return std::move(tree).error();
  http::Headers headers;
  headers.add("Content-Type", "application/x-tar");
  auto tar = tar_of(*std::move(tree), base_name(place->path));
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(tar));
  co_return Result<void>();
}

Task<http::Response> write_tree(core::Cay& cay, ExchangePtr exchange) {
  auto place = place_of(*exchange);
  if (!place) co_return std::move(place).error();
  exchange->note_subject(path_subject(place->path));
  auto tree = tree_of_tar(exchange->body());
  auto done = co_await cay.files().write_tree(exchange->principal(), place->ref, place->path,
                                              place->as, std::move(tree));
  if (!done) co_return std::move(done).error();
  co_return empty_answer(204);
}

}  // namespace cay::api::native
