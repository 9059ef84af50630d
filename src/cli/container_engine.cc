#include "cli/container_engine.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "client/errors.h"
#include "client/loop.h"
#include "client/read_ahead.h"
#include "http/client.h"
#include "model/snapshot_request.h"

namespace cay::cli {
namespace {

constexpr std::string_view kDockerPrefix = "docker-daemon:", kPodmanPrefix = "podman:";
constexpr Millis kEngineLimit{600'000};  // an engine packs the image before it answers
constexpr int kFound = 200, kUnknownImage = 404;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// The sockets at which the engine may answer.
std::vector<std::string> sockets_of(EngineImage::Engine engine) {
  const bool docker = engine == EngineImage::Engine::kDocker;
  const std::string named = variable(docker ? "DOCKER_HOST" : "CONTAINER_HOST");
  if (named.starts_with("unix://")) return {named};
  if (docker) return {"unix:///var/run/docker.sock"};
  const std::string own = variable("XDG_RUNTIME_DIR");
  std::vector<std::string> out;
  if (own.starts_with('/')) out.push_back("unix://" + own + "/podman/podman.sock");
  out.emplace_back("unix:///run/podman/podman.sock");
  return out;
}

ApiError unreachable(const EngineImage& image, const std::string& why) {
  const bool docker = image.engine == EngineImage::Engine::kDocker;
  return {ErrorCode::kUnavailable, "engine_unreachable",
          std::string(docker ? "no Docker Engine" : "no Podman") + " answers (" + why + "): " +
              (docker ? "start it, or name its socket in DOCKER_HOST. Without one: docker save " +
                            image.name + " | cay snapshot import - --name NAME"
                      : "start it with `podman system service`, or name its socket in "
                        "CONTAINER_HOST. Without one: podman save " +
                            image.name + " | cay snapshot import - --name NAME")};
}

// The engines take a name in their path as it is, with its slashes and colons.
std::string path_of(const std::string& name) {
  std::string out = "/images/";
  for (const char c : name)
    out += c == '/' || c == ':' || c == '@' ? std::string(1, c)
                                            : http::encode_segment(std::string_view(&c, 1));
  return out + "/get";
}

Task<http::ClientResponse> request_archive(http::Client& engine, std::string target) {
  http::ClientRequest request;
  request.target = std::move(target);
  auto answer = co_await engine.send(std::move(request));
  co_return answer;
}

Task<std::unique_ptr<http::Client>> connected(asio::any_io_executor loop, std::string url) {
  http::ClientOptions options;
  options.url = std::move(url);
  options.response_timeout = kEngineLimit;
  auto made = http::Client::create(std::move(loop), std::move(options));
  co_return made;
}

std::string snapshot_name_of(const std::string& name) {
  const auto named = image_reference_from(name);
  if (!named)
    throw ApiError(ErrorCode::kInvalidArgument, "bad_reference",
                   "'" + name + "' is no name of an image: name the snapshot with --name");
  return named->snapshot_name() + (named->tag.empty() ? "" : ":" + named->tag);
}

}  // namespace

std::optional<EngineImage> engine_image_from(std::string_view text) {
  EngineImage out;
  if (text.starts_with(kDockerPrefix)) {
    out.name = text.substr(kDockerPrefix.size());
  } else if (text.starts_with(kPodmanPrefix)) {
    out.engine = EngineImage::Engine::kPodman;
    out.name = text.substr(kPodmanPrefix.size());
  } else {
    return std::nullopt;
  }
  if (out.name.empty()) return std::nullopt;
  return out;
}

sdk::Snapshot import_from_engine(Context& at, const EngineImage& image, const std::string& name) {
  const std::string snapshot = name.empty() ? snapshot_name_of(image.name) : name;
  client::Loop loop;
  std::string why;
  for (const std::string& url : sockets_of(image.engine)) {
    auto engine = client::value_or_raise(loop.wait(connected(loop.executor(), url)));
    auto answer = loop.wait(request_archive(*engine, path_of(image.name)));
    if (!answer) {
      why += (why.empty() ? "" : "; ") + answer.error().message;
      continue;
    }
    if (answer->status == kUnknownImage)
      throw ApiError(ErrorCode::kNotFound, "image_not_found",
                     "the engine at " + url + " has no image " + image.name +
                         ": its `images` command lists those that it has");
    if (answer->status != kFound) {
      why += (why.empty() ? "" : "; ") + url + " answers with status " +
             std::to_string(answer->status);
      continue;
    }
    client::ReadAhead bytes(loop, std::move(answer->body));
    const auto produce = [&bytes] { return client::value_or_raise(bytes.next()); };
    return at.client.snapshot_store().import_archive(produce, snapshot);
  }
  throw unreachable(image, why);
}

}  // namespace cay::cli
