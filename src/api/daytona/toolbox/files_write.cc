// Changes of files: delete, folder, move, permissions, replace, and the upload of one.
#include <utility>

#include "api/common/audit_subjects.h"
#include "api/common/multipart.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/file_json.h"
#include "api/daytona/toolbox/files.h"
#include "api/daytona/toolbox/part_source.h"
#include "api/daytona/toolbox/request.h"
#include "core/ports/runtime.h"
#include "core/verbs/file_changes.h"
#include "core/verbs/files.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kReplaceBody = 4 << 20;
constexpr std::size_t kMostReplaced = 10'000;
constexpr std::uint32_t kUsualFolderMode = 0755;

// How often the text is in one file, or why nothing was replaced there.
Task<void> replace_one(core::Cay& cay, Box box, std::string file, std::string pattern,
                       std::string replacement) {
  ReplaceRequest request{.root = box.absolute(file),
                         .text = std::move(pattern),
                         .replacement = std::move(replacement),
                         .one_file = true};
  CAY_CO_TRY(const ReplaceResult done,
             co_await cay.file_changes().replace(box.who, box.ref, std::move(request), box.as()));
  for (const ReplacedFile& one : done.files) {
    if (one.error) co_return *one.error;
  }
  if (done.truncated) co_return vendor_error(kUnprocessable, file + ": it took too long");
  co_return Result<void>();
}

}  // namespace

Task<http::Response> delete_file(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  const bool recursive = query_flag(exchange, "recursive");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string target = box.absolute(path);
  exchange->note_subject(path_subject(target));
  if (!recursive) {
    CAY_CO_TRY(const FileInfo info,
               co_await cay.files().stat(box.who, box.ref, target, box.as(), false));
    if (info.kind == FileKind::kDirectory) {
      co_return vendor_error(kBadRequest,
                             "cannot delete directory without recursive flag: " + path);
    }
  }
  CAY_CO_CHECK(co_await cay.files().remove(box.who, box.ref, target, box.as(), recursive));
  co_return empty_answer(204);
}

Task<http::Response> create_folder(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  const std::string text = query_text(exchange, "mode");
  std::uint32_t mode = kUsualFolderMode;
  if (!text.empty()) {
    CAY_CO_TRY(mode, octal_mode(text));
  }
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_CHECK(
      co_await cay.files().make_directory(box.who, box.ref, box.absolute(path), box.as(), mode));
  co_return empty_answer(201);
}

Task<http::Response> move_file(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string from, needed_query(exchange, "source"));
  CAY_CO_TRY(const std::string to, needed_query(exchange, "destination"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CopyRequest request{.from = box.absolute(from),
                      .to = box.absolute(to),
                      .exclusive = true,
                      .create_parents = false};
  exchange->note_subject(path_subject(request.from));
  CAY_CO_TRY(const ChangeCount moved,
             co_await cay.file_changes().move(box.who, box.ref, std::move(request), box.as()));
  static_cast<void>(moved);
  co_return empty_answer(200);
}

Task<http::Response> set_permissions(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  const std::string mode = query_text(exchange, "mode");
  const std::string owner = query_text(exchange, "owner");
  const std::string group = query_text(exchange, "group");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string target = box.absolute(path);
  exchange->note_subject(path_subject(target));
  if (mode.empty() && owner.empty() && group.empty()) {  // an unknown path is an error even then
    CAY_CO_TRY(const FileInfo info,
               co_await cay.files().stat(box.who, box.ref, target, box.as(), true));
    static_cast<void>(info);
  }
  if (!mode.empty()) {
    CAY_CO_TRY(const std::uint32_t bits, octal_mode(mode));
    CAY_CO_TRY(const ChangeCount changed,
               co_await cay.file_changes().set_mode(box.who, box.ref, target, box.as(),
                                                    TreeMode{.mode = bits}));
    static_cast<void>(changed);
  }
  if (!owner.empty() || !group.empty()) {
    const std::string both = group.empty() ? owner : owner + ":" + group;
    CAY_CO_TRY(const ChangeCount changed,
               co_await cay.file_changes().set_owner(box.who, box.ref, target, box.as(),
                                                     TreeOwner{.owner = both}));
    static_cast<void>(changed);
  }
  co_return empty_answer(200);
}

Task<http::Response> replace_in_files(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange, kReplaceBody));
  codec::Fields fields(body);
  std::vector<std::string> files;
  std::string pattern, replacement;
  if (!fields.read("files", files, kMostReplaced)) fields.complain("files", "is needed");
  if (!fields.read("pattern", pattern) || pattern.empty()) fields.complain("pattern", "is needed");
  fields.read("newValue", replacement);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  codec::json::array out;
  for (const std::string& file : files) {
    const auto done = co_await replace_one(cay, box, file, pattern, replacement);
    codec::json::object row{{"file", codec::text(file)}, {"success", done.has_value()}};
    if (!done) row["error"] = codec::text(done.error().message);
    out.emplace_back(std::move(row));
  }
  co_return json_answer(200, out);
}

Task<http::Response> upload_file(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  const auto boundary = boundary_of(exchange->head().headers.get("Content-Type").value_or(""));
  if (!boundary)
    co_return vendor_error(kBadRequest, "an upload is multipart/form-data with a part \"file\"");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string target = box.absolute(path);
  exchange->note_subject(path_subject(target));
  const auto parts = std::make_shared<MultipartReader>(*boundary, exchange->body());
  for (;;) {
    CAY_CO_TRY(const auto part, co_await parts->next_part());
    if (!part) co_return vendor_error(kBadRequest, "the body has no part named \"file\"");
    if (part->name == "file") break;
  }
  core::WriteOptions options;
  options.as = box.as();
  // The body's end counts: what is cut off never becomes a file.
  CAY_CO_TRY(const FileInfo info,
             co_await cay.files().write(box.who, box.ref, target, std::move(options),
                                        part_source(parts, PartEnd::kLast)));
  co_return json_answer(200, codec::json::object{{"name", codec::text(base_name(info.path))},
                                                 {"path", codec::text(info.path)},
                                                 {"type", "file"}});
}

}  // namespace cay::api::daytona
