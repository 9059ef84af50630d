#include "core/testing/fake_images.h"

#include "async/bytes.h"

#include "base/sha256.h"

namespace cay::core::testing {
namespace {

class OpenFake : public OpenImage {
 public:
  OpenFake(FakeImages& all, FakeImages::Image image) : all_(all), image_(std::move(image)) {}
  const ImageFacts& facts() const override { return image_.facts; }
  Task<std::unique_ptr<LayerSource>> layer(std::size_t index) override {
    ++all_.layers_read;
    if (all_.layer_error) co_return *all_.layer_error;
    co_return layer_source(image_.layers.at(index));
  }
  std::string note() const override { return image_.note; }

 private:
  FakeImages& all_;
  FakeImages::Image image_;
};

}  // namespace

FakeImages::Image FakeImages::image_of(
    const std::vector<std::pair<std::string, std::string>>& files) {
  Image out;
  out.facts.digest = "sha256:manifest";
  for (const auto& [path, content] : files) {
    LayerEntry entry;
    entry.path = path;
    entry.size = content.size();
    entry.mode = 0644;
    out.layers.push_back({entry, Bytes(content)});
    out.facts.layers.push_back({"sha256:" + sha256_hex(path + "\n" + content), content.size()});
  }
  return out;
}

Task<std::unique_ptr<OpenImage>> FakeImages::pull(PullRequest request, Told told) {
  pulls.push_back(request);
  if (told) told("half way");
  while (hold) {
    co_await released_.wait();
  }
  if (pull_error) co_return *pull_error;
  const auto found = images.find(request.reference);
  if (found == images.end()) {
    co_return Error{Code::kNotFound, "image_not_found",
                    "no image " + request.reference + " in its registry", 0};
  }
  co_return std::make_unique<OpenFake>(*this, found->second);
}

Task<std::unique_ptr<OpenImage>> FakeImages::read(std::unique_ptr<ByteSource> bytes,
                                                  ArchiveKind kind, std::string owner, Told) {
  kinds.push_back(kind);
  owners.push_back(std::move(owner));
  for (;;) {
    CAY_CO_TRY(const Bytes chunk, co_await bytes->next());
    if (chunk.empty()) break;
  }
  if (!archive) co_return Error{Code::kInvalidArgument, "bad_image", "this is no image", 0};
  co_return std::make_unique<OpenFake>(*this, *archive);
}

Task<std::string> FakeImages::push(PushRequest request,
                                   std::vector<std::unique_ptr<LayerSource>> layers, Told told) {
  if (told) told("half way");
  while (hold) {
    co_await released_.wait();
  }
  if (push_error) co_return *push_error;
  PushedImage out;
  out.request = std::move(request);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto& events = out.layers.emplace_back();
    for (;;) {
      CAY_CO_TRY(auto event, co_await layers[i]->next());
      if (!event) break;
      events.push_back(*std::move(event));
    }
  }
  pushes.push_back(std::move(out));
  co_return std::string("sha256:pushed");
}

Task<std::unique_ptr<ByteSource>> FakeImages::write_archive(
    PushRequest request, std::vector<std::unique_ptr<LayerSource>> layers) {
  std::string text = "archive of " + request.reference;
  auto pushing = push(std::move(request), std::move(layers), {});
  CAY_CO_CHECK(co_await std::move(pushing));
  co_return source_of(std::move(text));
}

}  // namespace cay::core::testing
