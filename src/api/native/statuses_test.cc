// The statuses that no request alone can cause: each route's answer when the host, a keeper, the
// store or another verb fails it. Each route answers exactly those of them that openapi.json
// documents for it. The others (408 of a stalled client, 503 of a full listener) are of every
// route: tests/e2e/test_z_openapi.py.
#include <map>
#include <set>
#include <vector>

#include "api/native/native_test.h"

namespace cay::api {
namespace {

const std::set<int> kOfFaults{499, 500, 501};

struct Request {
  std::string method, path;
};

Error error_of(Code code) { return Error{code, "fault", "it failed", 0}; }

// One daemon with one sandbox and a running command in it, what else the route names, and one
// fault.
class World : public NativeTest {
 public:
  explicit World(const std::string& path) {
    const auto about = [&path](std::string_view part) {
      return path.find(part) != std::string::npos;
    };
    runtime.program = [](const CommandSpec&) {
      return testing::FakeProgram{{}, {}, {}, true, false};
    };
    EXPECT_EQ(call("POST", "/api/v1/sandboxes", R"({"name":"box","record_programs":true})")->status,
              201);
    call("PUT", "/api/v1/sandboxes/box/files?path=/x", "1");
    call("POST", "/api/v1/sandboxes/box/commands",
         R"({"id":"c1","argv":["cat"],"wait":false,"pty":{"rows":9,"cols":9}})");
    if (about("/contexts")) call("POST", "/api/v1/sandboxes/box/contexts", R"({"id":"c1"})");
    EXPECT_EQ(call("PUT", "/api/v1/secrets/k", R"({"sealed":"Ym94","hosts":["a.test"]})")->status,
              200);
    EXPECT_EQ(call("PATCH", "/api/v1/sandboxes/box",
                   R"({"proxy":[{"name":"k","secret":"k","way":"base_url"}]})")
                  ->status,
              200);
    if (about("/snapshot")) {
      EXPECT_EQ(call("POST", "/api/v1/sandboxes/box/snapshot?wait=5", R"({"name":"mine"})")->status,
                201);
      EXPECT_EQ(call("POST", "/api/v1/snapshots/mine/push", R"({"reference":"a.test/x"})")->status,
                200);
    }
    if (about("/volumes")) {
      EXPECT_EQ(call("POST", "/api/v1/volumes", R"({"name":"vol"})")->status, 201);
    }
    settle();
    images.images["x"] = images.archive.emplace(images.image_of({{"a", "1"}}));
    commands().program = [](const CommandSpec&) {
      return testing::FakeProgram{{}, core::testing::exited(0), {}, false, false};
    };
  }
  ~World() override {  // it ends in peace
    store.write_error.reset();
    store.read_error.reset();
  }
  void TestBody() override {}
  void answered(const testing::FakeExchange&) override {}  // undocumented answers are found below
  void stop() { EXPECT_EQ(call("POST", "/api/v1/sandboxes/box/stop")->status, 200); }
  core::testing::FakeLiveSandbox& box() { return runtime.only_box(); }
  core::testing::FakeRuntime& host() { return runtime; }
  core::testing::FakeStore& rows() { return store; }
  core::testing::FakeVault& broker() { return vault; }

  int ask(const Request& request) {
    auto one = exchange(request.method, target_of(request), body_of(request));
    one->request.wants_websocket =
        request.path.ends_with("/ws") || request.path.ends_with("/tunnel");
    if (request.path.ends_with("/snapshots/build"))
      one->request.headers.set("content-type", "multipart/form-data; boundary=b");
    one->socket->client_close();
    auto running = begin(one);
    EXPECT_TRUE(core::testing::finish<void>(loop, *running.started));
    EXPECT_EQ(one->answers, 1) << request.method << " " << request.path;
    return one->status;
  }

 private:
  static std::string target_of(const Request& request) {
    std::string path = request.path;
    const bool files = path.ends_with("/files") || path.find("/files/") != std::string::npos;
    std::string ref = path.find("/snapshots/") == std::string::npos ? "box" : "mine";
    if (path.find("/volumes/") != std::string::npos) ref = "vol";
    if (path.ends_with("/snapshots/archive")) path += "?name=other";
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"{ref}", ref},
                                   {"{id}", "c1"},
                                   {"{name}", "k"},
                                   {"{run}", "r1"}}) {
      const auto at = path.find(from);
      if (at != std::string::npos) path.replace(at, from.size(), to);
    }
    if (path.ends_with("/output")) return path + "?stream=stdout";
    if (path.ends_with("/tunnel")) return path + "?port=80";
    return files && request.method != "POST" ? path + "?path=/x" : path;
  }
  static std::string body_of(const Request& request) {
    static const std::map<std::string, std::string> kBodies{
        {"/drain", R"({"draining":true})"},
        {"/sandboxes", R"({"name":"other"})"},
        {"/ensure", R"({"claim":"other"})"},
        {"/batch-delete", R"({"refs":["box"]})"},
        {"/batch", R"({"command":{"argv":["true"]}})"},
        {"/links", R"({"port":80})"},
        {"/code", R"({"language":"bash","code":"true"})"},
        {"/commands", R"({"argv":["true"]})"},
        {"/kill", "{}"},
        {"/run", R"({"code":"1","wait_s":0})"},
        {"/stdin", "typed"},
        {"/resize", R"({"rows":1,"cols":1})"},
        {"/mkdir", R"({"path":"/d"})"},
        {"/rename", R"({"from":"/x","to":"/y"})"},
        {"/glob", R"({"path":"/","pattern":"*"})"},
        {"/grep", R"({"path":"/","text":"1"})"},
        {"/chmod", R"({"path":"/x","mode":"0600"})"},
        {"/chown", R"({"path":"/x","owner":"root"})"},
        {"/copy", R"({"from":"/x","to":"/y"})"},
        {"/move", R"({"from":"/x","to":"/y"})"},
        {"/replace", R"({"path":"/x","text":"1","replacement":"2"})"},
        {"/download", R"({"paths":["/x"]})"},
        {"/upload", R"({"files":[{"path":"/y","content":""}]})"},
        {"/watches", R"({"path":"/"})"},
        {"/snapshots", R"({"image":"x"})"},
        {"/volumes", R"({"name":"other"})"},
        {"/archive", "bytes"},
        {"/build",
         "--b\r\nContent-Disposition: form-data; name=\"build\"\r\n\r\n"
         R"({"dockerfile":"FROM scratch","name":"other"})"
         "\r\n--b--\r\n"},
        {"/{id}", R"({"verdict":"deny"})"},  // a question
        {"/tag", R"({"tag":"1"})"},
        {"/push", R"({"reference":"a.test/x"})"},
        {"/snapshot", R"({"name":"other"})"},
        {"/fork", "{}"},
        {"/rollback", "{}"}};
    if (request.method == "PUT" && request.path.find("/secrets/") != std::string::npos)
      return R"({"sealed":"Ym94"})";
    if (request.method == "PATCH" && request.path.find("/volumes/") != std::string::npos)
      return R"({"disk_bytes":67108864})";
    if (request.method == "PATCH") return R"({"labels":{"a":"b"}})";
    const auto found = kBodies.find(request.path.substr(request.path.rfind('/')));
    return request.method == "POST" && found != kBodies.end() ? found->second : "";
  }
};

using Fault = std::function<void(World&)>;

std::vector<Fault> faults() {
  std::vector<Fault> out;
  for (const Code code : {Code::kInternal, Code::kUnsupported, Code::kUnavailable,
                          Code::kDeadlineExceeded, Code::kLost}) {
    out.emplace_back([code](World& world) { world.box().fault = error_of(code); });  // the keeper
  }
  for (const Code code :
       {Code::kInternal, Code::kUnsupported, Code::kUnavailable, Code::kDeadlineExceeded,
        Code::kCancelled}) {  // the launcher; somebody who stops or deletes it meanwhile
    out.emplace_back([code](World& world) {
      world.stop();
      world.host().boot_error = error_of(code);
    });
  }
  for (const Code code : {Code::kInternal, Code::kUnavailable}) {
    out.emplace_back([code](World& world) {
      world.host().stop_error = world.host().destroy_error = error_of(code);
    });
  }
  for (const Code code : {Code::kInternal, Code::kLost}) {  // what is on the host's disk
    out.emplace_back([code](World& world) { world.host().record_error = error_of(code); });
    out.emplace_back([code](World& world) {
      world.stop();
      world.host().record_error = error_of(code);
    });
  }
  for (const Code code :
       {Code::kInternal, Code::kUnsupported, Code::kUnavailable, Code::kDeadlineExceeded}) {
    out.emplace_back([code](World& world) { world.broker().fault = error_of(code); });
  }
  out.emplace_back([](World& world) {
    world.box().pause_error = error_of(Code::kCancelled);
  });  // somebody resumes it meanwhile
  out.emplace_back([](World& world) { world.rows().write_error = error_of(Code::kUnavailable); });
  out.emplace_back([](World& world) { world.rows().read_error = error_of(Code::kUnavailable); });
  out.emplace_back([](World& world) { world.host().has_layers = false; });
  out.emplace_back([](World&) {});  // positive control: none
  return out;
}

// All faults of all routes take a minute under the sanitizers, so each part has a share of the
// routes.
class StatusesTest : public ::testing::TestWithParam<int> {};
constexpr int kParts = 8;

TEST_P(StatusesTest, EachRouteAnswersTheFaultsThatItDocumentsAndNoOthers) {
  const auto document = *codec::parse_object(openapi_json());
  int number = 0;
  for (const auto& path : document.at("paths").get_object()) {
    if (!std::string_view(path.key()).starts_with("/api/v1/")) continue;
    for (const auto& operation : path.value().get_object()) {
      if (number++ % kParts != GetParam()) continue;
      Request request{std::string(operation.key()), std::string(path.key())};
      for (char& c : request.method) c = static_cast<char>(c & ~0x20);
      std::set<int> answered, documented, undocumented;
      for (const auto& response : operation.value().at("responses").get_object()) {
        documented.insert(std::stoi(std::string(response.key())));
      }
      for (const Fault& fault : faults()) {
        World world(request.path);
        fault(world);
        const int status = world.ask(request);
        answered.insert(status);
        if (!documented.contains(status)) undocumented.insert(status);
      }
      const std::string what = request.method + " " + request.path;
      EXPECT_EQ(undocumented, std::set<int>{}) << what;
      for (const int status : kOfFaults) {
        EXPECT_EQ(documented.contains(status), answered.contains(status)) << what << " " << status;
      }
    }
  }
  EXPECT_GT(number, kParts);
}

INSTANTIATE_TEST_SUITE_P(Parts, StatusesTest, ::testing::Range(0, kParts));

}  // namespace
}  // namespace cay::api
