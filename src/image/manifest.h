// Manifests of images: OCI's and Docker's (schema 2), and the indexes that have one for each
// platform. Nothing of them is believed that was not checked here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "image/platform.h"

namespace cay::image {

inline constexpr std::size_t kMostManifestBytes = 4 << 20;
inline constexpr std::size_t kMostLayers = 1000;
inline constexpr std::size_t kMostManifests = 1000;  // of an index
inline constexpr int kMostIndexes = 3;               // one in another
inline constexpr std::uint64_t kMostBlobBytes = std::uint64_t{1} << 40;

// A reference to a blob by its content.
struct Descriptor {
  std::string media_type, digest;
  std::uint64_t size = 0;
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // the lowest first
};

struct IndexEntry {
  Descriptor manifest;
  std::optional<Platform> platform;
  std::string name{};  // an annotation of archives: the image's name or tag
};
struct Index {
  std::vector<IndexEntry> manifests;
};

// The media types that we accept, for a request's Accept.
inline constexpr std::string_view kAccepted =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

// Fails kInvalidArgument bad_image.
Result<std::variant<Manifest, Index>> parse_manifest(std::string_view text);

// Returns the entry for a platform. A sole entry without a platform fits all. Fails kNotFound
// image_not_found, with the platforms that there are.
Result<Descriptor> choose(const Index& index, const Platform& wanted);

}  // namespace cay::image
