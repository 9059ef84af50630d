// Routes that change files beyond their content, and those about several files.
#include "api/common/answer_size.h"
#include "api/common/audit_subjects.h"
#include "api/common/source.h"
#include "api/common/subjects.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "api/native/written_file.h"
#include "codec/base64.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/utf8.h"
#include "core/verbs/file_changes.h"
#include "core/verbs/files.h"
#include "http/client.h"
#include "model/ids.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr std::int64_t kMostReplaced = 100'000;
constexpr std::size_t kMostText = 64 * 1024;
constexpr std::size_t kMostSubjects = 600;

object count_json(const ChangeCount& count) {
  return {{"entries", count.entries},
          {"bytes", count.bytes},
          {"left_out", count.left_out},
          {"copied", count.copied}};
}

std::string needed(codec::Fields& fields, std::string_view name) {
  std::string out;
  if (!fields.read(name, out) && fields.ok()) fields.complain(name, "is needed");
  return out;
}

struct Copy {
  CopyRequest request;
  FileAs as;
};
Result<Copy> copy_of(const object& body, bool recursive) {
  Copy out;
  codec::Fields fields(body);
  out.request.from = needed(fields, "from");
  out.request.to = needed(fields, "to");
  fields.read("exclusive", out.request.exclusive);
  if (recursive) fields.read("recursive", out.request.recursive);
  fields.read("user", out.as.user);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

using CopyVerb = Task<ChangeCount> (core::FileChanges::*)(Principal, std::string, CopyRequest,
                                                          FileAs);

Task<http::Response> copy_or_move(core::Cay& cay, ExchangePtr exchange, bool recursive,
                                  CopyVerb verb) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto copy = copy_of(*body, recursive);
  if (!copy) co_return std::move(copy).error();
  exchange->note_subject(path_subject(copy->request.from) + " to " +
                         path_subject(copy->request.to));
  auto done = co_await (cay.file_changes().*verb)(exchange->principal(), param(*exchange, "ref"),
                                                  copy->request, copy->as);
  if (!done) co_return std::move(done).error();
  co_return json_answer(200, count_json(*done));
}

std::string subjects_of(const char* what, const std::vector<std::string>& paths) {
  Subjects out(what, kMostSubjects);
  for (const std::string& path : paths) out.add(path_subject(path));
  return out.text();
}

// One part for each file: its bytes, or the JSON of its error. The boundary is random, so that no
// content has it.
class Parts final : public ByteSource {
 public:
  Parts(std::unique_ptr<core::SeveralFiles> files, std::string boundary)
      : files_(std::move(files)), boundary_(std::move(boundary)) {}

  Task<Bytes> next() override {
    while (!ended_) {
      if (content_) {
        CAY_CO_TRY(auto bytes, co_await content_->next());
        if (!bytes.empty()) co_return std::move(bytes);
        content_.reset();
        co_return Bytes("\r\n");
      }
      auto file = co_await files_->next();
      if (!file) {
        ended_ = true;
        co_return "--" + boundary_ + "--\r\n";
      }
      co_return begin(*std::move(file));
    }
    co_return Bytes();
  }

 private:
  Bytes begin(core::NamedFile file) {
    Bytes out = "--" + boundary_ + "\r\nCay-Path: " + http::encode_segment(file.path) + "\r\n";
    if (!file.content) {
      const Error& error = file.content.error();
      const object body{{"error", codec::to_json(error, note_error(error))}};
      return out + "Content-Type: application/json\r\nCay-Error: " + error.reason + "\r\n\r\n" +
             codec::write(body) + "\r\n";
    }
    content_ = std::move(file.content->bytes);
    return out + "Content-Type: application/octet-stream\r\n\r\n";
  }

  std::unique_ptr<core::SeveralFiles> files_;
  const std::string boundary_;
  std::unique_ptr<ByteSource> content_;  // of the present part
  bool ended_ = false;
};

WrittenFile upload_of(codec::Fields& fields, const std::string& user) {
  WrittenFile out = read_written_file(fields, kBatchBodyLimit);
  fields.read("exclusive", out.options.exclusive);
  out.options.as.user = user;
  fields.refuse_unknown();
  return out;
}

Result<std::vector<WrittenFile>> uploads_of(const object& body) {
  codec::Fields fields(body);
  std::string user;
  fields.read("user", user);
  std::vector<WrittenFile> out;
  const array* files = fields.array("files");
  if (files == nullptr && fields.ok()) fields.complain("files", "is needed");
  if (files != nullptr && files->size() > kMostFiles)
    fields.complain("files", "has more than 1000 items");
  for (std::size_t i = 0; files != nullptr && i < files->size() && fields.ok(); ++i) {
    const object* item = (*files)[i].if_object();
    if (item == nullptr) {
      fields.complain("files", "must be a list of objects");
      break;
    }
    auto where = fields.path("files");
    where.push_back(std::to_string(i));
    codec::Fields inner(*item, where);
    out.push_back(upload_of(inner, user));
    fields.adopt(inner);
  }
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

object replaced_json(const ReplacedFile& file) {
  object out{{"path", codec::text(file.path)}, {"count", file.count}};
  if (!codec::is_utf8(file.path)) out["path_base64"] = codec::base64(file.path);
  if (file.error) out["error"] = codec::to_json(*file.error, note_error(*file.error));
  return out;
}

}  // namespace

Task<http::Response> change_mode(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  const std::string path = needed(fields, "path");
  TreeMode mode;
  mode.mode = mode_of(fields, needed(fields, "mode"));
  fields.read("recursive", mode.recursive);
  FileAs as;
  fields.read("user", as.user);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(path_subject(path));
  auto done = co_await cay.file_changes().set_mode(exchange->principal(), param(*exchange, "ref"),
                                                   path, as, mode);
  if (!done) co_return std::move(done).error();
  co_return json_answer(200, count_json(*done));
}

Task<http::Response> change_owner(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  const std::string path = needed(fields, "path");
  TreeOwner owner;
  owner.owner = needed(fields, "owner");
  fields.read("recursive", owner.recursive);
  FileAs as;
  fields.read("user", as.user);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(path_subject(path));
  auto done = co_await cay.file_changes().set_owner(exchange->principal(), param(*exchange, "ref"),
                                                    path, as, owner);
  if (!done) co_return std::move(done).error();
  co_return json_answer(200, count_json(*done));
}

Task<http::Response> copy_file(core::Cay& cay, ExchangePtr exchange) {
  return copy_or_move(cay, std::move(exchange), true, &core::FileChanges::copy);
}

Task<http::Response> move_file(core::Cay& cay, ExchangePtr exchange) {
  return copy_or_move(cay, std::move(exchange), false, &core::FileChanges::move);
}

Task<http::Response> replace_in_files(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  ReplaceRequest request;
  request.root = needed(fields, "path");
  if (!fields.read("text", request.text, kMostText) && fields.ok())
    fields.complain("text", "is needed");
  if (!fields.read("replacement", request.replacement, kMostText) && fields.ok())
    fields.complain("replacement", "is needed");
  fields.read("glob", request.file_glob);
  std::int64_t limit = 0;
  if (fields.read("limit", limit, 1, kMostReplaced))
    request.limit = static_cast<std::uint32_t>(limit);
  FileAs as;
  fields.read("user", as.user);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(path_subject(request.root));
  auto done = co_await cay.file_changes().replace(exchange->principal(), param(*exchange, "ref"),
                                                  request, as);
  if (!done) co_return std::move(done).error();
  array items;
  std::uint64_t size = 0;
  for (const ReplacedFile& file : done->files) {
    size += text_size(file.path) + (file.error ? text_size(file.error->message) : 0) + 200;
    if (size > kMostAnswer) {
      co_return Error{Code::kExhausted, "listing_too_large",
                      "the files whose text was replaced are more than one answer holds: set a "
                      "limit",
                      0};
    }
    items.emplace_back(replaced_json(file));
  }
  co_return json_answer(200, object{{"items", std::move(items)}, {"truncated", done->truncated}});
}

Task<void> download_files(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::vector<std::string> paths;
  if (!fields.read("paths", paths, kMostFiles) && fields.ok())
    fields.complain("paths", "is needed");
  FileAs as;
  fields.read("user", as.user);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(subjects_of("reads", paths));
  auto files = co_await cay.file_changes().read_several(exchange->principal(),
                                                        param(*exchange, "ref"), paths, as);
  if (!files) co_return std::move(files).error();
  const std::string boundary = "cay-" + new_uuid();
  http::Headers headers;
  headers.add("Content-Type", "multipart/mixed; boundary=" + boundary);
  headers.add("Cache-Control", "no-store");
  auto parts = std::make_unique<Parts>(*std::move(files), boundary);
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(parts));
  co_return Result<void>();
}

Task<http::Response> upload_files(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBatchBodyLimit);
  if (!body) co_return std::move(body).error();
  auto uploads = uploads_of(*body);
  body->clear();
  if (!uploads) co_return std::move(uploads).error();
  std::vector<std::string> paths;
  for (const WrittenFile& one : *uploads) paths.push_back(one.path);
  exchange->note_subject(subjects_of("writes", paths));
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  // First of all, because the error of a file stands in its place, and a sandbox that cannot run
  // concerns them all. It stays awake meanwhile.
  auto held = co_await cay.file_changes().read_several(who, ref, {}, {});
  if (!held) co_return std::move(held).error();
  array items;
  for (WrittenFile& one : *uploads) {
    auto bytes = source_of(std::move(one.bytes));
    auto info = co_await cay.files().write(who, ref, one.path, one.options, std::move(bytes));
    object item{{"path", codec::text(one.path)}};
    if (info) {
      item["file"] = codec::to_json(*info);
    } else {
      item["error"] = codec::to_json(info.error(), note_error(info.error()));
    }
    items.emplace_back(std::move(item));
  }
  co_return json_answer(200, object{{"items", std::move(items)}});
}

}  // namespace cay::api::native
