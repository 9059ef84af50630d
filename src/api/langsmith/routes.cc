// Every route of the facade, under every prefix that clients make of LANGSMITH_ENDPOINT.
#include <iterator>
#include <memory>
#include <utility>

#include "api/langsmith/boxes.h"
#include "api/langsmith/config.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/execute.h"
#include "api/langsmith/execute_stream.h"
#include "api/langsmith/files.h"
#include "api/langsmith/links.h"
#include "api/langsmith/registries.h"
#include "api/langsmith/snapshots.h"
#include "api/langsmith/tunnel.h"
#include "model/ids.h"

namespace cay::api {
namespace {

using namespace langsmith;  // NOLINT(google-build-using-namespace): this file is its table of
                            // contents

// Protocol reference, section 1.1: the second half is what mixed settings of old clients produce.
constexpr const char* kPrefixes[] = {"/v2/sandboxes", "/api/v2/sandboxes", "/api/v1/v2/sandboxes",
                                     "/api/api/v2/sandboxes"};
constexpr const char* kRoots[] = {"", "/api", "/api/v1"};
// LangSmith's own paths, where these clients send traces.
constexpr const char* kTracePaths[] = {
    "runs",       "sessions", "datasets", "examples", "feedback",
    "prompts",    "repos",    "commits",  "public",   "settings",
    "workspaces", "orgs",     "otel",     "traces",   "annotation-queues"};
// The routes of LangSmith that take runs in and give nothing back.
constexpr std::pair<const char*, const char*> kIngest[] = {
    {"POST", "/runs"}, {"POST", "/runs/batch"}, {"POST", "/runs/multipart"}};
constexpr const char* kVersion = "0.16.0";  // the least that the newest clients accept

using Plain = Task<http::Response> (*)(core::Cay&, ExchangePtr);

asio::awaitable<void> no_upstream(ExchangePtr exchange) {
  const Error error{Code::kNotFound, "no_such_route",
                    "Cay has nothing at this path, and LangSmith's own API it only passes on: set "
                    "[langsmith] upstream and "
                    "upstream_key_file in the daemon's configuration, or give the sandbox client "
                    "its URL alone (api_endpoint / apiEndpoint)",
                    0};
  auto response = both_ways(404, "NotFound", error);
  co_await exchange->respond(std::move(response));
}

// The path goes on as it was written: an id with a slash or dots in it, however escaped, could be
// another's path there.
asio::awaitable<void> no_such_run(ExchangePtr exchange) {
  auto response =
      both_ways(422, "InvalidRequest",
                Error{Code::kInvalidArgument, "invalid_run_id", "a run's id is a UUID", 0});
  co_await exchange->respond(std::move(response));
}

// Returns how many segments name the subject of a path: those for api and version, and the next.
template <class Segments>
std::size_t naming(const Segments& segments) {
  std::size_t count = 0;
  while (count < segments.size() &&
         (segments[count] == "api" || segments[count] == "v1" || segments[count] == "v2"))
    ++count;
  return count + 1;
}

// Whether the path is about something of Cay's, so that it is no path of LangSmith's that Cay does
// not know.
bool is_cays(const http::Router& router, const http::RequestHead& head) {
  const std::size_t count = naming(head.segments);
  if (head.segments.size() < count) return true;  // "/", "/api/v1"
  std::string start;
  for (std::size_t i = 0; i < count; ++i) start += "/" + head.segments[i];
  for (const auto& route : router.routes()) {
    if (route.pattern == start || route.pattern.starts_with(start + "/")) return true;
  }
  return false;
}

// The upstream decides how clients batch, split and compress runs: its settings are part of the
// response.
asio::awaitable<void> info(std::function<asio::awaitable<codec::json::object>()> ingestion,
                           ExchangePtr exchange) {
  codec::json::object body{{"version", kVersion}};
  if (ingestion) {
    auto asking = ingestion();
    const auto settings = co_await std::move(asking);
    for (const auto& [name, value] : settings) body[name] = value;
  }
  auto response = json_answer(200, body);
  co_await exchange->respond(std::move(response));
}

// 401, 404, 405, 500 and the like, before a handler.
http::Response outer_error(const http::RequestHead&, int status, const Error& error) {
  const char* type = status == 401   ? "Unauthorized"
                     : status == 403 ? "Forbidden"
                     : status == 404 ? "NotFound"
                     : status == 500 ? "InternalError"
                                     : "InvalidRequest";
  return envelope(status, type, error.message, new_uuid());
}

class Table {
 public:
  Table(http::Router& router, core::Cay& cay, LangsmithConfig config)
      : router_(router),
        cay_(cay),
        config_(std::move(config)),
        offsets_(std::make_shared<OffsetIndex>()) {}

  void add_all() {
    declare();
    for (const char* root : kRoots) add_root(root);
    // Other requests of LangSmith's clients: its paths are many, and grow.
    const http::Router& router = router_;
    router_.fall_back([&router](const http::RequestHead& head) { return !is_cays(router, head); },
                      passing(Passing::kAnything), whole());
    for (const char* prefix : kPrefixes) {
      prefix_ = prefix;
      add_boxes();
      add_snapshots();
      add_data_plane();
    }
  }

 private:
  void plain(const char* method, const char* path, Plain verb, Right right,
             Shape shape = control_error) {
    core::Cay& cay = cay_;
    const Verb bound = [&cay, verb](ExchangePtr exchange) {
      return verb(cay, std::move(exchange));
    };
    router_.add(method, prefix_ + path, answering(cay, bound, std::move(shape)), right);
  }

  using Limited = Task<http::Response> (*)(core::Cay&, Limits, ExchangePtr);
  void add_limited(const char* method, const char* path, Limited verb) {
    core::Cay& cay = cay_;
    const Limits maximum = config_.maximum;
    const Verb bound = [&cay, maximum, verb](ExchangePtr exchange) {
      return verb(cay, maximum, std::move(exchange));
    };
    router_.add(method, prefix_ + path, answering(cay, bound, control_error), Right::kManage);
  }

  http::Handler passing(Passing what) const {
    if (!config_.forward) return no_upstream;
    return [forward = config_.forward, what](ExchangePtr exchange) {
      return forward(std::move(exchange), what);
    };
  }
  http::Handler passing_run() const {
    return [pass = passing(Passing::kRuns)](ExchangePtr exchange) {
      return is_uuid(exchange->params().at("id")) ? pass(std::move(exchange))
                                                  : no_such_run(std::move(exchange));
    };
  }
  // The upstream's key may do everything there, with the data of all its users. So a caller needs
  // as much here. Without an upstream the answer explains how to set one.
  Right whole() const { return config_.forward ? Right::kHost : Right::kManage; }

  // These clients send X-Api-Key or a Bearer token, as Cay's own do, so there is no rule for keys.
  void declare() {
    http::Facade facade{.prefixes = {std::begin(kPrefixes), std::end(kPrefixes)},
                        .refusal = outer_error};
    for (const std::string root : kRoots) {
      for (const std::string path : kTracePaths) facade.prefixes.push_back(root + "/" + path);
    }
    router_.declare(std::move(facade));
  }

  void add_root(const std::string& root) {
    router_.add(
        "GET", root + "/info",
        [ingestion = config_.ingestion](ExchangePtr exchange) {
          return info(ingestion, std::move(exchange));
        },
        Right::kAny);
    for (const std::string path : kTracePaths) {
      router_.add("*", root + "/" + path, passing(Passing::kAnything), whole());
      router_.add("*", root + "/" + path + "/{rest...}", passing(Passing::kAnything), whole());
    }
    for (const auto& [method, path] : kIngest)
      router_.add(method, root + path, passing(Passing::kRuns), Right::kManage);
    if (config_.forward) router_.add("PATCH", root + "/runs/{id}", passing_run(), Right::kManage);
  }

  void add_boxes() {
    core::Cay& cay = cay_;
    const Limits maximum = config_.maximum;
    const Verb create = [&cay, maximum](ExchangePtr exchange) {
      return create_box(cay, maximum, std::move(exchange));
    };
    const Verb patch = [&cay, maximum](ExchangePtr exchange) {
      return patch_box(cay, maximum, std::move(exchange));
    };
    router_.add("POST", prefix_ + "/boxes", answering(cay, create, create_error), Right::kManage);
    router_.add("PATCH", prefix_ + "/boxes/{name}", answering(cay, patch, control_error),
                Right::kManage);
    plain("GET", "/boxes", list_boxes, Right::kRead);
    plain("GET", "/boxes/{name}", get_box, Right::kReadOne);
    plain("DELETE", "/boxes/{name}", delete_box, Right::kManage);
    plain("GET", "/boxes/{name}/status", box_status, Right::kReadOne);
    plain("POST", "/boxes/{name}/start", start_box, Right::kUseOne);
    plain("POST", "/boxes/{name}/stop", stop_box, Right::kUseOne);
    plain("POST", "/boxes/batch-delete", delete_boxes, Right::kManage);
    plain("GET", "/usage", usage, Right::kRead);
    add_limited("POST", "/boxes/{name}/snapshot", capture_box);
    const ServiceNames names = config_.names;
    const Verb service = [&cay, names](ExchangePtr exchange) {
      return service_url(cay, names, std::move(exchange));
    };
    const Verb file = [&cay, names](ExchangePtr exchange) {
      return file_url(cay, names, std::move(exchange));
    };
    router_.add("POST", prefix_ + "/boxes/{name}/service-url",
                answering(cay, service, control_error), Right::kUseOne);
    router_.add("POST", prefix_ + "/boxes/{name}/download-url", answering(cay, file, control_error),
                Right::kUseOne);
  }

  void add_snapshots() {
    plain("GET", "/snapshots", list_snapshots, Right::kRead);
    plain("GET", "/snapshots/{name}", get_snapshot, Right::kRead);
    plain("GET", "/snapshots-by-name/{name}", snapshot_tags, Right::kRead);
    add_limited("POST", "/snapshots", create_snapshot);
    plain("DELETE", "/snapshots/{name}", delete_snapshot, Right::kManage);
    plain("POST", "/registries", create_registry, Right::kManage);
    plain("GET", "/registries", list_registries, Right::kRead);
    plain("GET", "/registries/{name}", get_registry, Right::kRead);
    plain("PATCH", "/registries/{name}", patch_registry, Right::kManage);
    plain("DELETE", "/registries/{name}", delete_registry, Right::kManage);
  }

  void add_data_plane() {
    core::Cay& cay = cay_;
    auto offsets = offsets_;
    // The index lives as long as the route that uses it.
    const auto socket = execute_ws(cay, *offsets, config_.input);
    router_.add(
        "GET", prefix_ + "/dp/{name}/execute/ws",
        [offsets, socket](ExchangePtr exchange) { return socket(std::move(exchange)); },
        Right::kUseOne);
    plain("POST", "/dp/{name}/execute", execute, Right::kUseOne, data_error("CommandError"));
    plain("POST", "/dp/{name}/upload", upload, Right::kUseOne, data_error("WriteError"));
    const StreamVerb get = [&cay](ExchangePtr exchange) {
      return download(cay, std::move(exchange));
    };
    const StreamVerb head = [&cay](ExchangePtr exchange) {
      return head_download(cay, std::move(exchange));
    };
    router_.add("GET", prefix_ + "/dp/{name}/download", streaming(get, data_error("ReadError")),
                Right::kReadOne);
    router_.add("HEAD", prefix_ + "/dp/{name}/download", streaming(head, data_error("ReadError")),
                Right::kReadOne);
    plain("POST", "/dp/{name}/glob", glob_files, Right::kReadOne, data_error("ReadError"));
    plain("POST", "/dp/{name}/grep", grep_files, Right::kReadOne, data_error("ReadError"));
    const StreamSettings settings{.heartbeat = config_.heartbeat};
    const StreamVerb start = [&cay, settings](ExchangePtr exchange) {
      return start_stream(cay, settings, std::move(exchange));
    };
    const StreamVerb resume = [&cay, settings](ExchangePtr exchange) {
      return resume_stream(cay, settings, std::move(exchange));
    };
    router_.add("POST", prefix_ + "/dp/{name}/execute/stream/start", streaming(start, stream_error),
                Right::kUseOne);
    router_.add("POST", prefix_ + "/dp/{name}/execute/stream/resume",
                streaming(resume, stream_error), Right::kUseOne);
    router_.add("GET", prefix_ + "/dp/{name}/tunnel", tunnel_ws(cay), Right::kUseOne);
  }

  http::Router& router_;
  core::Cay& cay_;
  LangsmithConfig config_;
  std::shared_ptr<OffsetIndex> offsets_;
  std::string prefix_;
};

}  // namespace

void add_langsmith_routes(http::Router& router, core::Cay& cay, langsmith::LangsmithConfig config) {
  Table(router, cay, std::move(config)).add_all();
}

}  // namespace cay::api
