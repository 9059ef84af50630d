#include "image/pull.h"

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "async/scope.h"
#include "image/image_config.h"
#include "image/manifest.h"
#include "image/platform.h"
#include "image/reference.h"
#include "image/registry.h"

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

}  // namespace

Task<FetchedImage> pull_image(asio::any_io_executor loop, core::PullRequest request,
                              std::string more_ca_file, const BlobStore& store, core::Told told) {
  CAY_CO_TRY(const Reference reference, parse_reference(request.reference));
  CAY_CO_TRY(const Platform platform, parse_platform(request.platform));
  RegistryAccess access;
  access.reference = reference;
  access.login = request.login;
  access.special_network = request.special_network;
  access.more_ca_file = std::move(more_ca_file);
  Registry registry(loop, std::move(access), told);
  CAY_CO_CHECK(co_await registry.open());
  CAY_CO_TRY(const Chosen chosen, co_await manifest_for(registry, reference.version(), platform));
  CAY_CO_TRY(const std::string config, co_await registry.small_blob(chosen.manifest.config));
  CAY_CO_TRY(ImageDescription described, parse_image_config(config));
  const std::vector<Descriptor>& layers = chosen.manifest.layers;
  if (described.diff_ids.size() != layers.size()) {
    co_return Error{Code::kInvalidArgument, "bad_image",
                    "the image's configuration names " + std::to_string(described.diff_ids.size()) +
                        " layers, and its manifest " + std::to_string(layers.size()),
                    0};
  }
  Layers fetching(loop, registry, store, layers, request.reference, told);
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

}  // namespace cay::image
