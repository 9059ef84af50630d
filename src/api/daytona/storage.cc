#include "api/daytona/storage.h"

#include <charconv>
#include <string>
#include <utility>

#include "api/daytona/lookup.h"
#include "async/bytes.h"
#include "base/wiped_memory.h"
#include "codec/time.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr const char* kBucket = "contexts";
constexpr std::uint32_t kMostParts = 10'000;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

http::Response xml(int status, const std::string& body) {
  http::Response out;
  out.status = status;
  out.headers.add("Content-Type", "application/xml");
  out.body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + body;
  return out;
}

std::string_view code_of(int status) {
  switch (status) {
    case 401:
    case 403: return "AccessDenied";
    case 404: return "NoSuchKey";
    case 413: return "EntityTooLarge";
    default: return status < 500 ? "InvalidRequest" : "InternalError";
  }
}

http::Response refused_by_store(int status, const std::string& message) {
  return xml(status, "<Error><Code>" + std::string(code_of(status)) + "</Code><Message>" +
                         escaped(message) + "</Message></Error>");
}

http::Response store_shape(const http::RequestHead&, int status, const Error& error) {
  return refused_by_store(status, error.message);
}

http::Response verb_shape(const Error& error, const std::string&) {
  return refused_by_store(error.reason == "context_too_large" ? 413 : status_of(error),
                          error.message);
}

// Reads the last part of a value "Bearer KEY".
std::string key_of(const http::RequestHead& head) {
  const std::string_view value = head.headers.get("Authorization").value_or("");
  const auto blank = value.rfind(' ');
  return std::string(blank == std::string_view::npos ? value : value.substr(blank + 1));
}

Task<http::Response> push_access(std::shared_ptr<Control>, ExchangePtr exchange) {
  const auto& head = exchange->head();
  const Wiped key(key_of(head));
  co_return json_answer(
      200, json::object{{"accessKey", "cay"},
                        {"secret", "cay"},
                        {"sessionToken", codec::text(key.view())},
                        {"storageUrl", head.scheme + "://" + head.host + kStoragePrefix},
                        {"organizationId", codec::text(exchange->principal().tenant.get())},
                        {"bucket", kBucket},
                        {"region", "us-east-1"}});
}

std::string object_key(const ExchangePtr& exchange) {
  const auto found = exchange->params().find("key");
  return found == exchange->params().end() ? std::string() : found->second;
}

Task<http::Response> list_objects(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const std::string prefix(exchange->head().query.get("prefix").value_or(""));
  const TenantId& tenant = exchange->principal().tenant;
  const bool there = !prefix.empty() && control->contexts.has(tenant, prefix);
  std::string body = "<ListBucketResult><Name>" + std::string(kBucket) + "</Name><Prefix>" +
                     escaped(prefix) + "</Prefix><KeyCount>" + (there ? "1" : "0") +
                     "</KeyCount><MaxKeys>1</MaxKeys><IsTruncated>false</IsTruncated>";
  if (there) {
    body += "<Contents><Key>" + escaped(prefix) + "context.tar</Key><Size>" +
            std::to_string(control->contexts.size_of(tenant, prefix + "context.tar")) +
            "</Size></Contents>";
  }
  co_return xml(200, body + "</ListBucketResult>");
}

Task<void> head_object(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const std::size_t size =
      control->contexts.size_of(exchange->principal().tenant, object_key(exchange));
  if (size == 0) co_return Error{Code::kNotFound, "no_build_context", "there is no such key", 0};
  http::Headers headers;
  headers.add("ETag", "\"context\"");
  headers.add("Last-Modified", codec::http_date(system_clock().wall() / 1000));
  co_await exchange->respond_stream(200, std::move(headers), size, source_of(Bytes()));
  co_return Result<void>();
}

http::Response stored() {
  http::Response out;
  out.headers.add("ETag", "\"context\"");
  return out;
}

Task<http::Response> put_object(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const http::Query& query = exchange->head().query;
  const auto coding = exchange->head().headers.get("Content-Encoding").value_or("");
  if (coding.find("aws-chunked") != std::string_view::npos)
    co_return invalid("bad_encoding", "send the object as it is, without aws-chunked");
  CAY_CO_TRY(std::string bytes, co_await exchange->read_body(Contexts::kMostBytes));
  const TenantId tenant = exchange->principal().tenant;
  const auto upload = query.get("uploadId");
  if (!upload) {
    CAY_CO_CHECK(control->contexts.put(tenant, object_key(exchange), std::move(bytes)));
    co_return stored();
  }
  const std::string_view text = query.get("partNumber").value_or("");
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  if (number == 0 || number > kMostParts)
    co_return invalid("invalid_context", "partNumber is 1 to 10000");
  CAY_CO_CHECK(control->contexts.put_part(tenant, std::string(*upload), number, std::move(bytes)));
  co_return stored();
}

// POST: begins an upload in parts (?uploads), or ends one (?uploadId).
Task<http::Response> post_object(std::shared_ptr<Control> control, ExchangePtr exchange) {
  constexpr std::size_t kMostOfList = std::size_t{2} << 20;
  CAY_CO_CHECK(co_await exchange->read_body(kMostOfList));  // the list of parts: all that came
  const http::Query& query = exchange->head().query;
  const TenantId& tenant = exchange->principal().tenant;
  const std::string key = object_key(exchange);
  const std::string place =
      "<Bucket>" + std::string(kBucket) + "</Bucket><Key>" + escaped(key) + "</Key>";
  if (query.get("uploads")) {
    const std::string id = control->contexts.begin(tenant, key);
    co_return xml(200, "<InitiateMultipartUploadResult>" + place + "<UploadId>" + id +
                           "</UploadId></InitiateMultipartUploadResult>");
  }
  const std::string upload(query.get("uploadId").value_or(""));
  CAY_CO_CHECK(control->contexts.complete(tenant, upload));
  co_return xml(200, "<CompleteMultipartUploadResult>" + place +
                         "<ETag>\"context\"</ETag></CompleteMultipartUploadResult>");
}

Task<http::Response> delete_object(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const std::string upload(exchange->head().query.get("uploadId").value_or(""));
  control->contexts.give_up(exchange->principal().tenant, upload);
  co_return empty_answer(204);
}

}  // namespace

void add_storage_routes(PlaneRoutes& routes, std::shared_ptr<Control> control) {
  routes.add("GET", "/object-storage/push-access", with(control, push_access), Right::kManage);
  http::Router& router = routes.router();
  router.declare(
      {.prefixes = {kStoragePrefix},
       .refusal = store_shape,
       .key = http::KeyRule{{{"X-Amz-Security-Token", http::KeyPlace::Form::kBare}}, "AWS"}});
  const auto add = [&](const char* method, const std::string& path, ControlVerb verb) {
    const Verb bound = [control, verb](ExchangePtr exchange) {
      return verb(control, std::move(exchange));
    };
    router.add(method, kStoragePrefix + path, answering(routes.cay(), bound, verb_shape),
               Right::kManage);
  };
  const std::string bucket = std::string("/") + kBucket;
  add("GET", bucket, list_objects);
  add("GET", bucket + "/", list_objects);
  const StreamVerb head = [control](ExchangePtr exchange) {
    return head_object(control, std::move(exchange));
  };
  router.add("HEAD", kStoragePrefix + bucket + "/{key...}", streaming(head, verb_shape),
             Right::kManage);
  add("PUT", bucket + "/{key...}", put_object);
  add("POST", bucket + "/{key...}", post_object);
  add("DELETE", bucket + "/{key...}", delete_object);
}

}  // namespace cay::api::daytona
