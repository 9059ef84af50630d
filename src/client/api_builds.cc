// The verbs on builds of Dockerfiles.
#include "client/api.h"
#include "client/form_body.h"
#include "client/json_read.h"
#include "client/json_write.h"

namespace cay::client {

Task<sdk::Snapshot> build(Connection& at, sdk::BuildOptions options,
                          std::unique_ptr<ByteSource> context) {
  const FormField request{.name = "build",
                          .content_type = "application/json",
                          .value = codec::write(build_body(options))};
  FormFile files{
      .name = "context", .content_type = "application/x-tar", .bytes = std::move(context)};
  auto body = std::make_unique<FormBody>(request, std::move(files));
  std::string type = body->content_type();
  auto answer =
      co_await at.upload("POST", "/api/v1/snapshots/build", std::move(type), std::move(body));
  if (!answer) co_return std::move(answer).error();
  co_return snapshot_from(*answer);
}

Task<sdk::BuildLog> build_log(Connection& at, std::string ref, std::uint64_t offset,
                              std::uint32_t wait_s) {
  std::string target = "/api/v1/snapshots/" + http::encode_segment(ref) +
                       "/build?offset=" + std::to_string(offset) +
                       "&wait=" + std::to_string(wait_s);
  auto answer = co_await at.call_json("GET", std::move(target));
  if (!answer) co_return std::move(answer).error();
  co_return build_log_from(*answer);
}

}  // namespace cay::client
