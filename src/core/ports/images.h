// Images: the port to the confined process that fetches and reads container images. Core believes
// nothing that an image contains. A sandbox writes its entries.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/layers.h"
#include "model/snapshot.h"
#include "model/snapshot_request.h"

namespace cay::core {

using cay::RegistryLogin;

struct PullRequest {
  std::string reference;   // "python:3.12", "localhost:5000/x@sha256:..."
  std::string platform{};  // "linux/amd64"; empty: this host's
  RegistryLogin login{};
  // The registry may lie in a special network (loopback, private), and then need no TLS. Redirects
  // may not lead there in any case.
  bool special_network = false;
  // The tenant. Blobs that another owner's requests fetched are not used.
  std::string owner{};
};

struct ImageLayer {
  std::string diff_id;     // "sha256:..." of the plain tar
  std::uint64_t size = 0;  // compressed
};

struct ImageFacts {
  std::string name;    // normal form: "docker.io/library/python:3.12"; empty: an archive without
  std::string tag{};   // of the reference; empty: none
  std::string digest;  // of the manifest
  ImageConfig config;
  std::vector<ImageLayer> layers;  // the lowest first
};

// A fetched image, whose digests were checked. It can be read while this lives.
class OpenImage {
 public:
  virtual ~OpenImage() = default;
  virtual const ImageFacts& facts() const = 0;
  // The entries of layer `index`. The end comes only if the whole layer had the digest diff_id:
  // else kInvalidArgument (digest_mismatch). kInvalidArgument (bad_layer): it is no layer.
  virtual Task<std::unique_ptr<LayerSource>> layer(std::size_t index) = 0;
  // Returns what was left out of the layers that were read, for people. Empty: nothing.
  virtual std::string note() const { return {}; }
};

struct PushRequest {
  std::string reference;
  RegistryLogin login{};
  bool special_network = false;
  ImageConfig config{};
};

// The format that an archive is read as.
enum class ArchiveKind : std::uint8_t {
  kAny,   // an OCI layout, a `docker save` archive or a root file system, by its content
  kRoot,  // a root file system, whatever files it contains
};

using Told = std::function<void(std::string)>;  // one line for people: how far it is

class Images {
 public:
  virtual ~Images() = default;
  // Fetches what is not there yet. kNotFound (image_not_found), kPermissionDenied
  // (registry_denied), kUnavailable (registry_unreachable), kInvalidArgument (bad_reference,
  // bad_image, digest_mismatch), kPermissionDenied (special_network).
  virtual Task<std::unique_ptr<OpenImage>> pull(PullRequest request, Told told) = 0;
  // Reads an OCI layout, a `docker save` archive, or a tar of a root file system. Each may be
  // compressed by gzip or zstd. A root file system is one layer without configuration. `owner` as
  // in PullRequest.
  virtual Task<std::unique_ptr<OpenImage>> read(std::unique_ptr<ByteSource> archive,
                                                ArchiveKind kind, std::string owner, Told told) = 0;
  // Pushes layers (the lowest first) as an image. Returns the digest of its manifest.
  virtual Task<std::string> push(PushRequest request,
                                 std::vector<std::unique_ptr<LayerSource>> layers, Told told) = 0;
  // The same, as an OCI archive. PushRequest::reference is the name in it. Returns once all layers
  // are read.
  virtual Task<std::unique_ptr<ByteSource>> write_archive(
      PushRequest /*request*/, std::vector<std::unique_ptr<LayerSource>> /*layers*/) {
    co_return Error{Code::kUnsupported, "images_unsupported",
                    "the process that fetches images writes no archives", 0};
  }
};

}  // namespace cay::core
