// Routes about builds of Dockerfiles. A request is a multipart body: the part `build` in JSON, and
// then the part `context`, a tar archive that is streamed.
#include "core/verbs/builds.h"

#include "api/common/multipart.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "base/wiped_memory.h"
#include "codec/build_json.h"
#include "codec/snapshot_json.h"
#include "codec/wiped_json.h"
#include "core/verbs/snapshots.h"

namespace cay::api::native {
namespace {

constexpr std::size_t kMostOfPart = std::size_t{4} << 20;  // of `build`
constexpr std::uint64_t kLongestBuildWait = 3600;

Result<std::chrono::seconds> build_wait(http::Exchange& exchange) {
  CAY_TRY(const std::uint64_t seconds, query_number(exchange, "wait", 0, 0, kLongestBuildWait));
  return std::chrono::seconds(seconds);
}

Error bad_parts(const char* what) {
  return invalid("bad_multipart", std::string("a build's multipart body ") + what);
}

// The bytes of the part `context`, which is the last one.
class ContextBody final : public ByteSource {
 public:
  explicit ContextBody(std::unique_ptr<MultipartReader> parts) : parts_(std::move(parts)) {}

  Task<Bytes> next() override {
    CAY_CO_TRY(Bytes bytes, co_await parts_->next());
    if (!bytes.empty()) co_return bytes;
    CAY_CO_TRY(const auto another, co_await parts_->next_part());
    if (another) co_return bad_parts("has a part after \"context\"");
    co_return Bytes();
  }

 private:
  std::unique_ptr<MultipartReader> parts_;
};

struct BuildBody {
  BuildRequest request;
  NewSnapshot made;
  std::unique_ptr<ByteSource> context{};  // null: the request has none
};

// The part may hold secrets, which are found nowhere after this.
Task<codec::json::object> build_part(MultipartReader& parts) {
  Wiped text;
  text.bytes().reserve(kMostOfPart);
  for (;;) {
    CAY_CO_TRY(Bytes piece, co_await parts.next());
    if (piece.empty()) break;
    const bool fits = text.bytes().size() + piece.size() <= kMostOfPart;
    if (fits) text.bytes() += piece;
    wipe(piece);
    if (!fits) co_return invalid("body_too_large", "the part \"build\" is longer than 4 MiB");
  }
  co_return codec::parse_wiped_object(text.view());
}

Task<BuildBody> build_body(ExchangePtr exchange) {
  const auto boundary = boundary_of(exchange->head().headers.get("content-type").value_or(""));
  if (!boundary) {
    co_return bad_parts("is needed: Content-Type: multipart/form-data with a boundary");
  }
  auto parts = std::make_unique<MultipartReader>(*boundary, exchange->body());
  CAY_CO_TRY(const auto first, co_await parts->next_part());
  if (!first || first->name != "build") co_return bad_parts("begins with the part \"build\"");
  CAY_CO_TRY(const auto object, co_await build_part(*parts));
  BuildBody out;
  codec::Fields fields(object);
  codec::read_build(fields, out.request, out.made);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  CAY_CO_TRY(const auto second, co_await parts->next_part());
  if (second && second->name != "context")
    co_return bad_parts("has no part beside \"build\" and \"context\"");
  if (second) out.context = std::make_unique<ContextBody>(std::move(parts));
  co_return std::move(out);
}

}  // namespace

Task<http::Response> build_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto patience = build_wait(*exchange);
  if (!patience) co_return std::move(patience).error();
  auto reading = build_body(exchange);
  auto body = co_await std::move(reading);
  if (!body) co_return std::move(body).error();
  exchange->note_subject("build of snapshot " + body->made.name);
  auto beginning = cay.builds().build(exchange->principal(), std::move(body->made),
                                      std::move(body->request), std::move(body->context));
  auto made = co_await std::move(beginning);
  if (!made) co_return std::move(made).error();
  if (patience->count() > 0) {
    auto waiting = cay.snapshots().wait(exchange->principal(), made->id, *patience);
    made = co_await std::move(waiting);
    if (!made) co_return std::move(made).error();
  }
  co_return json_answer(201, codec::to_json(*made));
}

Task<http::Response> get_build_log(core::Cay& cay, ExchangePtr exchange) {
  auto patience = build_wait(*exchange);
  if (!patience) co_return std::move(patience).error();
  auto offset = query_number(*exchange, "offset", 0, 0, INT64_MAX);
  if (!offset) co_return std::move(offset).error();
  auto waiting =
      cay.builds().log(exchange->principal(), param(*exchange, "ref"), *offset, *patience);
  auto log = co_await std::move(waiting);
  if (!log) co_return std::move(log).error();
  co_return json_answer(200, codec::to_json(*log));
}

}  // namespace cay::api::native
