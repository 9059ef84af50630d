// Routes about volumes.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/volume_json.h"
#include "core/verbs/volumes.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

Task<http::Response> create_volume(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  NewVolume made;
  codec::read_new_volume(fields, made);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject("volume " + made.name);
  auto got = co_await cay.volumes().create(exchange->principal(), std::move(made));
  if (!got) co_return std::move(got).error();
  co_return json_answer(201, codec::to_json(*got));
}

Task<http::Response> list_volumes(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.volumes().list(exchange->principal());
  if (!got) co_return std::move(got).error();
  array items;
  for (const VolumeInfo& one : *got) items.emplace_back(codec::to_json(one));
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> get_volume(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.volumes().get(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> resize_volume(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::uint64_t disk_bytes = 0;
  codec::read_volume_size(fields, disk_bytes);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject("disk_bytes " + std::to_string(disk_bytes));
  auto got =
      co_await cay.volumes().resize(exchange->principal(), param(*exchange, "ref"), disk_bytes);
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> delete_volume(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.volumes().remove(exchange->principal(), param(*exchange, "ref"));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

}  // namespace cay::api::native
