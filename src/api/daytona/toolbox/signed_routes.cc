#include "api/daytona/toolbox/signed_routes.h"

#include <memory>
#include <utility>

#include "api/daytona/config.h"
#include "api/daytona/plane.h"
#include "api/daytona/signing.h"
#include "api/daytona/toolbox/admitted.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/files.h"
#include "api/daytona/toolbox/signed_files.h"
#include "base/clock.h"

namespace cay::api::daytona {
namespace {

constexpr std::int64_t kMillisInOneSecond = 1000;
constexpr std::pair<const char*, const char*> kSigned[] = {
    {"GET", "/files/download"}, {"POST", "/files/upload-v2"}, {"POST", "/files/upload"}};

bool is_signed_file(const http::RequestHead& head) {
  constexpr std::size_t kSegments = 5;  // daytona, toolbox, ID, files, download
  return has_signature(head) && head.segments.size() == kSegments &&
         head.segments[1] == "toolbox" && head.segments[3] == "files";
}

http::Response signed_refusal(const http::RequestHead& head, int status, const Error& error) {
  return refused(head, Plane::kToolbox, Refusal{status, std::string(code_of_status(status))},
                 error.message);
}

// Returns the request with the rights that its signature gives.
Task<ExchangePtr> admitted_by_signature(core::Cay& cay, ExchangePtr exchange) {
  const std::string sandbox = exchange->params().at("id");
  auto access = co_await signing_access(cay, sandbox);
  // A stranger learns nothing about which sandboxes there are.
  const std::string key = access ? access->key : std::string();
  const std::int64_t now = system_clock().wall() / kMillisInOneSecond;
  CAY_CO_CHECK(check_signature(exchange->head(), key, now));
  const std::string caller = access->who.tenant.get() + "/" + sandbox;
  CAY_CO_CHECK(exchange->let_in({http::Caller::Kind::kLink, caller}));
  co_return ExchangePtr(std::make_shared<Admitted>(exchange, std::move(access->who)));
}

Task<void> signed_download(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(auto admitted, co_await admitted_by_signature(cay, std::move(exchange)));
  auto done = co_await download_file(cay, std::move(admitted));
  co_return done;
}

Task<http::Response> signed_upload(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(auto admitted, co_await admitted_by_signature(cay, std::move(exchange)));
  auto done = co_await upload_file(cay, std::move(admitted));
  co_return done;
}

}  // namespace

void divert_signed_files(http::Router& router, core::Cay& cay) {
  auto table = std::make_shared<http::Router>();
  const std::string prefix = std::string(kToolboxPrefix) + "/{id}";
  http::Facade facade{.prefixes = {kPrefix}, .refusal = signed_refusal};
  for (const auto& [method, path] : kSigned)
    facade.without_key.push_back(std::string(method) + " " + prefix + path);
  table->declare(std::move(facade));
  PlaneRoutes routes(*table, cay, Plane::kToolbox, prefix);
  for (const auto& [method, path] : kSigned) {
    if (std::string_view(method) == "GET") {
      routes.add_stream(method, path, signed_download, http::Auth::kOwn);
    } else {
      routes.add(method, path, signed_upload, http::Auth::kOwn);
    }
  }
  router.divert(is_signed_file, std::move(table));
}

}  // namespace cay::api::daytona
