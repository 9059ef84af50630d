#include "api/langsmith/errors.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "codec/model_json.h"
#include "core/answer_room.h"
#include "model/ids.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

std::string_view type_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "InvalidRequest";
    case Code::kUnauthenticated: return "Unauthorized";
    case Code::kPermissionDenied: return "Forbidden";
    case Code::kNotFound: return "NotFound";
    case Code::kAlreadyExists: return "NameConflict";
    case Code::kConflict: return "Conflict";
    case Code::kNotReady: return "NotReady";
    case Code::kExhausted: return "QuotaExceeded";
    case Code::kDeadlineExceeded: return "Timeout";
    case Code::kCancelled: return "Cancelled";
    case Code::kOutOfRange: return "InvalidRange";
    case Code::kUnsupported: return "NotImplemented";
    case Code::kUnavailable: return "ServiceUnavailable";
    case Code::kLost: return "Lost";
    case Code::kInternal: return "InternalError";
  }
  return "InternalError";
}

// The clients repeat 502-504 by themselves, so what is ours and may have happened is a 500.
int control_status(const Error& error) {
  switch (error.code) {
    case Code::kNotReady: return 400;
    case Code::kUnavailable: return 503;
    case Code::kCancelled: return 500;
    default: return status_of(error);
  }
}

// A Dockerfile with an instruction that Cay does not build: the caller mends it.
constexpr std::string_view kUnsupportedDockerfile = "dockerfile_unsupported";

// Returns the field that a refusal of the core is about, for the caller can correct it, as with the
// facade's own refusals. Empty: no field is.
std::string_view field_of(std::string_view reason) {
  static constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"invalid_name", "name"},
      {"invalid_labels", "labels"},
      {"invalid_env", "env_vars"},
      {"invalid_expiry", "expires_in_seconds"},
      {"invalid_link", "path"},
      {"invalid_content_type", "content_type"},
      {"invalid_user", "run_config"},
      {"invalid_workdir", "run_config"},
      {"invalid_ttl", "idle_ttl_seconds"},
      {"invalid_limits", "vcpus"},
      {"invalid_tag", "tag"},
      {"registry_mismatch", "docker_image"},
      {"image_not_built", "docker_image"},
      {"bad_build_record", "docker_image"},
      {"invalid_dockerfile", "docker_image"},
      {kUnsupportedDockerfile, "docker_image"},
      {"invalid_registry_url", "url"},
      {"invalid_registry_login", "username"}};
  for (const auto& [known, field] : kFields) {
    if (known == reason) return field;
  }
  return {};
}

http::Response refused_field(std::string_view field, const Error& error) {
  json::array list{json::object{{"loc", json::array{"body", field}},
                                {"msg", codec::text(error.message)},
                                {"type", "value_error"}}};
  return json_answer(422, json::object{{"detail", std::move(list)}});
}

}  // namespace

http::Response envelope(int status, std::string_view type, const std::string& message,
                        const std::string& error_id) {
  return json_answer(status, json::object{{"detail", json::object{{"error", type},
                                                                  {"message", codec::text(message)},
                                                                  {"error_id", error_id}}}});
}

http::Response both_ways(int status, std::string_view type, const Error& error) {
  const std::string error_id = new_uuid();
  const json::object detail{
      {"error", type}, {"message", codec::text(error.message)}, {"error_id", error_id}};
  return json_answer(status,
                     json::object{{"detail", detail}, {"error", codec::to_json(error, error_id)}});
}

http::Response control_error(const Error& error, const std::string& error_id) {
  const bool is_callers =
      error.code == Code::kInvalidArgument || error.reason == kUnsupportedDockerfile;
  const std::string_view field = is_callers ? field_of(error.reason) : "";
  if (!field.empty()) return refused_field(field, error);
  return envelope(control_status(error), type_of(error.code), error.message, error_id);
}

http::Response create_error(const Error& error, const std::string& error_id) {
  switch (error.code) {
    case Code::kNotFound:
    case Code::kNotReady: return envelope(400, "InvalidRequest", error.message, error_id);
    case Code::kUnavailable: return envelope(503, "Unschedulable", error.message, error_id);
    case Code::kInvalidArgument:
      if (error.reason == "malformed_json" || error.reason == "body_too_large" ||
          !field_of(error.reason).empty()) {
        return control_error(error, error_id);
      }
      return envelope(422, "SandboxConfig", error.message, error_id);
    default: return control_error(error, error_id);
  }
}

bool not_now(const Error& error) {
  const auto is_one_of = [&error](std::initializer_list<std::string_view> reasons) {
    return std::ranges::find(reasons, error.reason) != reasons.end();
  };
  switch (error.code) {
    case Code::kNotReady: return is_one_of({"sandbox_not_ready", "sandbox_paused"});
    case Code::kExhausted:
      return error.reason.starts_with("quota_") ||
             error.reason == "too_many_starts";  // the host is full, or busy
    case Code::kUnavailable: return is_one_of({"draining", "shutting_down", "start_too_late"});
    default: return false;
  }
}

bool may_go_again(const Error& error) {
  if (not_now(error)) return true;
  // The way to the keeper, and its end, also by a stop.
  static constexpr std::string_view kUnknown[] = {"keeper_lost", "keeper_stalled",
                                                  "keeper_unreachable", "link_lost", "no_answer"};
  return std::ranges::find(kUnknown, error.reason) != std::end(kUnknown);
}

Shape data_error(std::string type) {
  return [type = std::move(type)](const Error& error, const std::string& error_id) {
    if (error.reason == core::kTooManyAnswers)
      return envelope(429, type, error.message, error_id);  // nothing was begun: to be repeated
    if (not_now(error))
      return envelope(400, "NotReady", error.message,
                      error_id);  // the clients raise their not-ready error
    switch (error.code) {
      case Code::kUnauthenticated: return envelope(401, "Unauthorized", error.message, error_id);
      case Code::kNotReady: return envelope(400, type, error.message, error_id);
      case Code::kNotFound:
        if (error.reason == "sandbox_not_found")
          return envelope(404, "NotFound", error.message, error_id);
        if (type != "CommandError") return envelope(404, "FileNotFound", error.message, error_id);
        return envelope(400, type, error.message, error_id);
      case Code::kPermissionDenied: return envelope(403, type, error.message, error_id);
      case Code::kOutOfRange: return envelope(416, type, error.message, error_id);
      case Code::kExhausted:
        return envelope(507, type, error.message,
                        error_id);  // the disk is full. Never 429: it is repeated
      case Code::kDeadlineExceeded: return envelope(408, type, error.message, error_id);
      case Code::kUnavailable:
      case Code::kLost:
      case Code::kInternal:
      case Code::kCancelled: return envelope(500, type, error.message, error_id);
      default: return envelope(status_of(error), type, error.message, error_id);
    }
  };
}

http::Response validation_error(const codec::Fields& fields) {
  json::array list;
  for (const auto& complaint : fields.complaints()) {
    json::array loc{"body"};
    for (const auto& part : complaint.where) loc.emplace_back(codec::text(part));
    list.emplace_back(json::object{
        {"loc", std::move(loc)}, {"msg", codec::text(complaint.message)}, {"type", "value_error"}});
  }
  return json_answer(422, json::object{{"detail", std::move(list)}});
}

http::Response unsupported(const std::string& what) {
  return envelope(501, "NotImplemented",
                  what + " is not built yet in Cay: see docs/from-langsmith.md", new_uuid());
}

http::Response not_ready_upgrade(const Error& error, const std::string& error_id) {
  auto response = envelope(503, "ServiceUnavailable", error.message, error_id);
  response.headers.set("Retry-After", "1");
  return response;
}

}  // namespace cay::api::langsmith
