// The verbs on volumes.
#include "client/api.h"
#include "client/json_read.h"

namespace cay::client {
namespace {

constexpr const char* kVolumes = "/api/v1/volumes";

std::string volume_target(const std::string& ref) {
  return std::string(kVolumes) + "/" + http::encode_segment(ref);
}

sdk::Volume volume_from(const json::object& from) {
  sdk::Volume out{.id = string_in(from, "id"),
                  .name = string_in(from, "name"),
                  .disk_bytes = number_in(from, "disk_bytes"),
                  .used_bytes = number_in(from, "used_bytes"),
                  .disk_lost = bool_in(from, "disk_lost"),
                  .created_at = string_in(from, "created_at"),
                  .created_by = string_in(from, "created_by"),
                  .json = codec::write(from)};
  const auto* users = from.if_contains("sandboxes");
  if (users == nullptr || !users->is_array()) return out;
  for (const auto& one : users->get_array()) {
    if (one.is_string()) out.sandboxes.emplace_back(one.get_string());
  }
  return out;
}

Task<sdk::Volume> volume_of(Connection& at, std::string method, std::string target,
                            json::object body = {}) {
  std::string text = body.empty() ? std::string() : codec::write(body);
  auto answer = co_await at.call_json(std::move(method), std::move(target), std::move(text));
  if (!answer) co_return std::move(answer).error();
  co_return volume_from(*answer);
}

}  // namespace

Task<std::vector<sdk::Volume>> volumes(Connection& at) {
  auto answer = co_await at.call_json("GET", kVolumes);
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", volume_from);
}

Task<sdk::Volume> volume(Connection& at, std::string ref) {
  return volume_of(at, "GET", volume_target(ref));
}

Task<sdk::Volume> create_volume(Connection& at, std::string name, std::uint64_t disk_bytes) {
  json::object body{{"name", name}};
  if (disk_bytes != 0) body["disk_bytes"] = disk_bytes;
  return volume_of(at, "POST", kVolumes, std::move(body));
}

Task<sdk::Volume> resize_volume(Connection& at, std::string ref, std::uint64_t disk_bytes) {
  return volume_of(at, "PATCH", volume_target(ref), json::object{{"disk_bytes", disk_bytes}});
}

Task<void> remove_volume(Connection& at, std::string ref) {
  auto answer = co_await at.call("DELETE", volume_target(ref));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

}  // namespace cay::client
