#include "api/daytona/volumes.h"

#include "api/common/request_body.h"
#include "api/daytona/lookup.h"
#include "codec/fields.h"
#include "codec/time.h"
#include "core/verbs/volumes.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostOfVolume = 64 * 1024;

json::object volume_json(const VolumeInfo& info) {
  const std::string made = codec::rfc3339(info.volume.created_at);
  json::object out{{"id", info.volume.id.get()},
                   {"name", codec::text(info.volume.name)},
                   {"organizationId", codec::text(info.volume.tenant.get())},
                   {"state", info.disk_lost ? "error" : "ready"},
                   {"createdAt", made},
                   {"updatedAt", made},
                   {"lastUsedAt", made},
                   {"errorReason", nullptr}};
  if (info.disk_lost) out["errorReason"] = "its disk is not in the store any more";
  return out;
}

Task<VolumeInfo> volume_of(core::Cay& cay, ExchangePtr exchange) {
  const std::string ref = ref_of(exchange);
  auto found = co_await cay.volumes().get(exchange->principal(), ref);
  if (!found && found.error().code == Code::kNotFound) {
    co_return Error{Code::kNotFound, "volume_not_found",
                    "Volume with ID or name " + ref + " not found", 0};
  }
  co_return found;
}

}  // namespace

Task<http::Response> list_volumes(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto all, co_await cay.volumes().list(exchange->principal()));
  json::array out;
  for (const VolumeInfo& one : all) out.emplace_back(volume_json(one));
  co_return json_answer(200, out);
}

Task<http::Response> create_volume(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMostOfVolume));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  NewVolume made;
  if (!fields.read("name", made.name) || made.name.empty()) fields.complain("name", "is needed");
  CAY_CO_CHECK(fields.first_error());
  const std::string name = made.name;
  exchange->note_subject("volume " + name);
  auto volume = co_await cay.volumes().create(exchange->principal(), std::move(made));
  if (!volume && volume.error().code == Code::kAlreadyExists) {
    co_return Error{Code::kAlreadyExists, "volume_exists",
                    "Volume with name " + name + " already exists", 0};
  }
  if (!volume) co_return std::move(volume).error();
  co_return json_answer(200, volume_json(*volume));
}

Task<http::Response> get_volume(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const VolumeInfo found, co_await volume_of(cay, exchange));
  co_return json_answer(200, volume_json(found));
}

Task<http::Response> delete_volume(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const VolumeInfo found, co_await volume_of(cay, exchange));
  CAY_CO_CHECK(co_await cay.volumes().remove(exchange->principal(), found.volume.id.get()));
  co_return empty_answer(200);
}

}  // namespace cay::api::daytona
