// Many files in one request: streamed multipart bodies in and out.
#include "api/daytona/toolbox/bulk.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "api/common/multipart.h"
#include "api/common/source.h"
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

constexpr std::size_t kMostUploadParts = 20'001;  // two of each file
constexpr std::size_t kMostPathBytes = 4096;
constexpr std::size_t kMostDownloads = 10'000;
constexpr std::size_t kDownloadBody = 64 << 20;
constexpr std::size_t kAtOnce = 1000;  // of SeveralFiles

// The answer to a bulk download: each file, or the error in its place.
class BulkParts final : public ByteSource {
 public:
  BulkParts(core::Cay& cay, Box box, std::vector<std::string> paths, http::RequestHead head,
            std::string boundary)
      : cay_(cay),
        box_(std::move(box)),
        paths_(std::move(paths)),
        head_(std::move(head)),
        boundary_(std::move(boundary)) {}

  Task<Bytes> next() override {
    if (content_) {
      CAY_CO_TRY(Bytes bytes, co_await content_->next());
      if (!bytes.empty()) co_return bytes;
      content_.reset();
      co_return Bytes("\r\n");
    }
    if (at_ == paths_.size()) {
      if (std::exchange(over_, true)) co_return Bytes();
      co_return Bytes("--" + boundary_ + "--\r\n");
    }
    if (at_ % kAtOnce == 0) {
      CAY_CO_CHECK(co_await open_more());
    }
    auto named = co_await files_->next();
    if (!named) co_return Error{Code::kInternal, "stream_closed", "a list of files ended", 0};
    const std::string path = paths_[at_++];
    if (!named->content) co_return error_part(path, named->content.error());
    core::FileStream file = *std::move(named->content);
    std::optional<std::uint64_t> length;
    // Files of /proc report size 0 and have content.
    if (file.info.size > 0) {
      length = file.info.size;
      content_ = exactly(std::move(file.bytes), file.info.size);
    } else {
      content_ = std::move(file.bytes);
    }
    const std::string type = media_type_of(path);
    co_return Bytes("--" + boundary_ + "\r\n" +
                    bulk_head({.name = "file", .path = path, .type = type, .length = length}));
  }

 private:
  Task<void> open_more() {
    std::vector<std::string> some;
    for (std::size_t i = at_; i < paths_.size() && some.size() < kAtOnce; ++i)
      some.push_back(paths_[i].empty() ? std::string() : box_.absolute(paths_[i]));
    CAY_CO_TRY(files_, co_await cay_.file_changes().read_several(box_.who, box_.ref,
                                                                 std::move(some), box_.as()));
    co_return Result<void>();
  }

  Bytes error_part(const std::string& path, const Error& error) const {
    note_error(error);
    const std::string body = refused(head_, Plane::kToolbox, error).body;
    return "--" + boundary_ + "\r\n" +
           bulk_head(
               {.name = "error", .path = path, .type = "application/json", .length = body.size()}) +
           body + "\r\n";
  }

  core::Cay& cay_;
  const Box box_;
  const std::vector<std::string> paths_;
  const http::RequestHead head_;
  const std::string boundary_;
  std::unique_ptr<core::SeveralFiles> files_;
  std::unique_ptr<ByteSource> content_;
  std::size_t at_ = 0;
  bool over_ = false;
};

// The state of a bulk upload.
struct Uploaded {
  std::map<std::uint32_t, std::string> paths;
  codec::json::array files;
  codec::json::array errors;

  void fail(const std::string& what) { errors.emplace_back(codec::text(what)); }
};

Task<void> write_part(core::Cay& cay, Box box, std::shared_ptr<MultipartReader> parts,
                      std::string path, std::shared_ptr<Uploaded> done) {
  core::WriteOptions options;
  options.as = box.as();
  const auto written = co_await cay.files().write(
      box.who, box.ref, box.absolute(path), std::move(options), part_source(parts, PartEnd::kMore));
  if (written) {
    done->files.emplace_back(
        codec::json::object{{"path", codec::text(path)}, {"bytes", written->size}});
    co_return Result<void>();
  }
  // A body that is broken concerns all that would follow.
  if (written.error().reason == "bad_multipart" || is_ours(written.error().code))
    co_return written.error();
  done->fail(path + ": " + written.error().message);
  co_return Result<void>();
}

}  // namespace

Task<http::Response> bulk_upload(core::Cay& cay, ExchangePtr exchange) {
  const auto boundary = boundary_of(exchange->head().headers.get("Content-Type").value_or(""));
  if (!boundary) co_return vendor_error(kBadRequest, "a bulk upload is multipart/form-data");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const MultipartLimits limits{.parts = kMostUploadParts};
  const auto parts = std::make_shared<MultipartReader>(*boundary, exchange->body(), limits);
  const auto done = std::make_shared<Uploaded>();
  for (;;) {
    CAY_CO_TRY(const auto part, co_await parts->next_part());
    if (!part) break;
    const auto name = bulk_name(part->name);
    if (!name) continue;
    if (!name->is_file) {
      CAY_CO_TRY(done->paths[name->index], co_await read_part(parts, kMostPathBytes));
      continue;
    }
    const auto known = done->paths.find(name->index);
    if (known == done->paths.end() || known->second.empty()) {
      done->fail("missing path metadata for " + part->name);
      continue;
    }
    const std::string path = known->second;
    CAY_CO_CHECK(co_await write_part(cay, box, parts, path, done));
  }
  exchange->note_subject("files " + std::to_string(done->files.size()));
  const int status = done->errors.empty() ? 200 : 400;
  codec::json::object body{{"files", std::move(done->files)}};
  if (status == 400) {
    std::string message = "some files were not uploaded";
    for (const auto& one : done->errors)
      message.append(": ").append(std::string_view(one.as_string()));
    auto answer =
        refused(exchange->head(), Plane::kToolbox, vendor_error(kBadRequest, std::move(message)));
    CAY_CO_TRY(auto shaped, codec::parse_object(answer.body));
    shaped["files"] = std::move(body["files"]);
    shaped["errors"] = std::move(done->errors);
    co_return json_answer(status, shaped);
  }
  co_return json_answer(status, body);
}

Task<void> bulk_download(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange, kDownloadBody));
  codec::Fields fields(body);
  std::vector<std::string> paths;
  if (!fields.read("paths", paths, kMostDownloads) || paths.empty())
    fields.complain("paths", "request body must be {paths: [...]} and non-empty");
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(Box box, co_await box_of(cay, exchange));
  // A file may contain any boundary that is known before.
  const std::string boundary = "DAYTONA-FILE-BOUNDARY-" + new_uuid();
  http::Headers headers;
  headers.add("Content-Type", "multipart/form-data; boundary=" + boundary);
  auto source = std::make_unique<BulkParts>(cay, std::move(box), std::move(paths), exchange->head(),
                                            boundary);
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(source));
  co_return Result<void>();
}

}  // namespace cay::api::daytona
