#include "image/pull.h"

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "async/scope.h"
#include "base/stacked_layers.h"
#include "image/image_config.h"
#include "image/manifest.h"
#include "image/platform.h"
#include "image/reference.h"
#include "image/registry.h"
#include "image/routes.h"

namespace cay::image {
namespace {

constexpr std::size_t kAtOnce = 2;  // blobs
constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::chrono::milliseconds kToldEvery{500};

// Fetches the layers of a manifest, two at a time.
class Layers {
 public:
  Layers(asio::any_io_executor loop, Registry& registry, const BlobStore& store,
         const std::vector<Descriptor>& layers, std::string name, const core::Told& told)
      : loop_(std::move(loop)),
        registry_(registry),
        store_(store),
        layers_(layers),
        name_(std::move(name)),
        told_(told) {
    for (const Descriptor& one : layers) size_ += one.size;
  }

  Task<void> fetch() {
    Scope scope(loop_);
    for (std::size_t i = 0; i < kAtOnce; ++i) scope.spawn(work());
    co_await scope.join();
    if (failure_) co_return *failure_;
    co_return Result<void>();
  }

 private:
  asio::awaitable<void> work() {
    while (next_ < layers_.size() && !failure_) {
      const Descriptor layer = layers_[next_++];
      std::function<void(std::uint64_t)> got = [this](std::uint64_t bytes) {
        got_ += bytes;
        tell();
      };
      auto done = co_await registry_.fetch(layer, store_, std::move(got));
      if (!done && !failure_) failure_ = done.error();
      ++done_;
    }
  }

  void tell() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kToldEvery) return;
    last_ = now;
    told_(name_ + ": layer " + std::to_string(std::min(done_ + 1, layers_.size())) + " of " +
          std::to_string(layers_.size()) + ", " + std::to_string(got_ / kMegabyte) + " of " +
          std::to_string((size_ + kMegabyte - 1) / kMegabyte) + " MB");
  }

  asio::any_io_executor loop_;
  Registry& registry_;
  const BlobStore& store_;
  const std::vector<Descriptor>& layers_;
  std::string name_;
  const core::Told& told_;
  std::uint64_t size_ = 0, got_ = 0;
  std::size_t next_ = 0, done_ = 0;
  std::optional<Error> failure_;
  std::chrono::steady_clock::time_point last_{};
};

// The platform's manifest, and its digest.
struct Chosen {
  Manifest manifest;
  std::string digest;
};

Task<Chosen> manifest_for(Registry& registry, std::string version, const Platform& platform) {
  for (int indexes = 0; indexes <= kMostIndexes; ++indexes) {
    CAY_CO_TRY(const std::string bytes, co_await registry.manifest(version));
    CAY_CO_TRY(auto parsed, parse_manifest(bytes));
    if (auto* manifest = std::get_if<Manifest>(&parsed))
      co_return Chosen{std::move(*manifest), digest_of(bytes)};
    CAY_CO_TRY(const Descriptor next, choose(std::get<Index>(parsed), platform));
    version = next.digest;
  }
  co_return Error{Code::kInvalidArgument, "bad_image",
                  "the image's indexes lead to more indexes, and to no manifest", 0};
}

// Pulls it by one way: from a mirror, or from the registry itself.
Task<FetchedImage> pull_by(asio::any_io_executor loop, RegistryAccess access, std::string image,
                           const Platform& platform, const BlobStore& store,
                           const core::Told& told) {
  const Reference reference = access.reference;
  Registry registry(loop, std::move(access), told);
  CAY_CO_CHECK(co_await registry.open());
  CAY_CO_TRY(const Chosen chosen, co_await manifest_for(registry, reference.version(), platform));
  CAY_CO_TRY(const std::string config, co_await registry.small_blob(chosen.manifest.config));
  CAY_CO_TRY(ImageDescription described, parse_image_config(config));
  const std::vector<Descriptor>& layers = chosen.manifest.layers;
  if (layers.empty() || layers.size() > kMostStackedLayers) {
    co_return Error{Code::kInvalidArgument, "bad_image",
                    "the image has " + std::to_string(layers.size()) + " layers: 1 to " +
                        std::to_string(kMostStackedLayers) + " can be stacked",
                    0};
  }
  if (described.diff_ids.size() != layers.size()) {
    co_return Error{Code::kInvalidArgument, "bad_image",
                    "the image's configuration names " + std::to_string(described.diff_ids.size()) +
                        " layers, and its manifest " + std::to_string(layers.size()),
                    0};
  }
  Layers fetching(loop, registry, store, layers, std::move(image), told);
  CAY_CO_CHECK(co_await fetching.fetch());
  FetchedImage out;
  out.facts.name = reference.name();
  out.facts.tag = reference.tag;
  out.facts.digest = chosen.digest;
  out.facts.config = std::move(described.config);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out.facts.layers.push_back({described.diff_ids[i], layers[i].size});
    LayerFile file;
    CAY_CO_TRY(file.file, store.find(layers[i].digest, layers[i].size));
    if (!file.file) {
      co_return Error{Code::kUnavailable, "images_unavailable",
                      "a layer was removed while the image was pulled: pull it again", 0};
    }
    file.blob = layers[i].digest;
    out.layers.push_back(std::move(file));
  }
  co_return std::move(out);
}

// The next way is tried if a mirror lacks the image or does not serve. It is not tried if the bytes
// differ from their digests.
bool leads_on(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kUnavailable ||
         error.code == Code::kPermissionDenied || error.code == Code::kDeadlineExceeded;
}

}  // namespace

Task<FetchedImage> pull_image(asio::any_io_executor loop, core::PullRequest request,
                              const Settings& settings, const BlobStore& store, core::Told told) {
  CAY_CO_TRY(const Reference reference, parse_reference(request.reference));
  CAY_CO_TRY(const Platform platform, parse_platform(request.platform));
  RegistryAccess access;
  access.reference = reference;
  access.more_ca_file = settings.authorities;
  access.proxy = proxy_of(settings);
  std::string tried;
  for (const Url& mirror : mirrors_of(settings, reference.registry)) {
    RegistryAccess by_mirror = access;
    by_mirror.mirror = mirror;
    auto got =
        co_await pull_by(loop, std::move(by_mirror), request.reference, platform, store, told);
    if (got || !leads_on(got.error())) co_return got;
    told(got.error().message + ". The next one is tried");
    tried += got.error().message + "; ";
  }
  access.login = std::move(request.login);
  access.special_network = request.special_network;
  auto got = co_await pull_by(loop, std::move(access), request.reference, platform, store, told);
  if (!got && !tried.empty()) {
    Error error = got.error();
    error.message = tried + error.message;
    co_return error;
  }
  co_return got;
}

}  // namespace cay::image
