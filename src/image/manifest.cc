#include "image/manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codec/json.h"
#include "image/digest.h"
#include "image/json_fields.h"

namespace cay::image {
namespace {

Error bad_manifest(const std::string& why) {
  return {Code::kInvalidArgument, "bad_image", "the image's manifest cannot be used: " + why, 0};
}

Result<Descriptor> descriptor_of(const json::object& object) {
  Descriptor out;
  out.media_type = string_in(object, "mediaType");
  out.digest = string_in(object, "digest");
  const auto size = number_in(object, "size");
  if (!is_digest(out.digest)) return bad_manifest("a digest in it is not sha256:...");
  if (!size || *size > kMostBlobBytes) return bad_manifest("a size in it is missing or too large");
  out.size = *size;
  return out;
}

Result<Index> index_of(const json::array& manifests) {
  if (manifests.size() > kMostManifests) return bad_manifest("it lists more than 1000 manifests");
  Index out;
  for (const json::value& value : manifests) {
    const json::object* object = value.if_object();
    if (object == nullptr) return bad_manifest("an entry of its index is no object");
    IndexEntry entry;
    CAY_TRY(entry.manifest, descriptor_of(*object));
    if (const json::object* platform = object_in(*object, "platform")) {
      entry.platform = Platform{string_in(*platform, "os"), string_in(*platform, "architecture"),
                                string_in(*platform, "variant")};
    }
    if (const json::object* notes = object_in(*object, "annotations")) {
      entry.name = string_in(*notes, "io.containerd.image.name");
      if (entry.name.empty()) entry.name = string_in(*notes, "org.opencontainers.image.ref.name");
    }
    out.manifests.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

Result<std::variant<Manifest, Index>> parse_manifest(std::string_view text) {
  if (text.size() > kMostManifestBytes) return bad_manifest("it is larger than 4 MiB");
  auto parsed = codec::parse_object(text);
  if (!parsed) return bad_manifest(parsed.error().message);
  const json::object& object = *parsed;
  if (number_in(object, "schemaVersion").value_or(0) != 2)
    return bad_manifest("it is not of schema version 2 (push the image again by a newer tool)");
  if (const json::array* manifests = array_in(object, "manifests")) {
    CAY_TRY(Index index, index_of(*manifests));
    return std::variant<Manifest, Index>(std::move(index));
  }
  const json::object* config = object_in(object, "config");
  const json::array* layers = array_in(object, "layers");
  if (config == nullptr || layers == nullptr)
    return bad_manifest("it has neither layers nor manifests");
  if (layers->size() > kMostLayers) return bad_manifest("it has more than 1000 layers");
  Manifest out;
  CAY_TRY(out.config, descriptor_of(*config));
  if (out.config.size > kMostManifestBytes) return bad_manifest("its configuration is over 4 MiB");
  for (const json::value& value : *layers) {
    const json::object* layer = value.if_object();
    if (layer == nullptr) return bad_manifest("a layer in it is no object");
    CAY_TRY(Descriptor descriptor, descriptor_of(*layer));
    const bool is_tar =
        descriptor.media_type.empty() || descriptor.media_type.find(".tar") != std::string::npos;
    if (!is_tar) return bad_manifest("a layer in it is no tar archive: it is no image of files");
    out.layers.push_back(std::move(descriptor));
  }
  return std::variant<Manifest, Index>(std::move(out));
}

Result<Descriptor> choose(const Index& index, const Platform& wanted) {
  const IndexEntry* found = nullptr;
  std::set<std::string> others;
  for (const IndexEntry& entry : index.manifests) {
    if (!entry.platform) continue;
    const Platform& has = *entry.platform;
    if (has.os != wanted.os || has.architecture != wanted.architecture) {
      if (has.os != "unknown") others.insert(has.text());
      continue;
    }
    // The wanted variant comes first, then one without a variant, then any.
    const auto rank = [&](const IndexEntry& one) {
      if (one.platform->variant == wanted.variant) return 2;
      return one.platform->variant.empty() ? 1 : 0;
    };
    if (found == nullptr || rank(entry) > rank(*found)) found = &entry;
  }
  if (found != nullptr) return found->manifest;
  if (index.manifests.size() == 1 && !index.manifests.front().platform)
    return index.manifests.front().manifest;
  std::string list;
  for (const std::string& one : others) {
    constexpr std::size_t kMostListed = 300;
    if (list.size() > kMostListed) break;
    list += (list.empty() ? "" : ", ") + one;
  }
  return Error{Code::kNotFound, "image_not_found",
               "the image is not there for " + wanted.text() +
                   (list.empty() ? std::string() : ". It is there for " + list),
               0};
}

}  // namespace cay::image
