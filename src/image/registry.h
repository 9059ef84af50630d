// Registry: a client of one repository in a registry (OCI distribution 1.1), for one pull or push.
//
// Everything that the registry sends is checked. Credentials go to the registry and its token
// service alone, by https or to the registry's own host. Only the registry's own host may lie in a
// special network, and only if the request allows that.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/task.h"
#include "core/ports/images.h"
#include "http/client.h"
#include "image/blob_store.h"
#include "image/challenge.h"
#include "image/manifest.h"
#include "image/reference.h"
#include "image/url.h"

namespace cay::image {

struct RegistryAccess {
  Reference reference{};
  core::RegistryLogin login{};
  bool special_network = false;
  std::string more_ca_file{};  // authorities besides the system's
  std::string rights = "pull";
  // The operator's mirror, instead of the registry itself. It may lie in a special network, and
  // gets no login. A path in it goes before the repository.
  std::optional<Url> mirror{};
  http::ClientProxy proxy{};
};

class Registry {
 public:
  Registry(asio::any_io_executor loop, RegistryAccess access, core::Told told);

  // Finds out how the registry is reached. The first call.
  Task<void> open();

  // Returns a manifest's bytes. `version`: a tag, or a digest, which was checked then. Fails
  // kNotFound image_not_found, kPermissionDenied (registry_denied, special_network), kUnavailable
  // registry_unreachable, kInvalidArgument digest_mismatch.
  Task<std::string> manifest(std::string version);
  // Returns a blob of at most kMostManifestBytes.
  Task<std::string> small_blob(Descriptor blob);
  // Fetches a blob into the store, if it is not there. `got` is called with the bytes that came.
  Task<void> fetch(Descriptor blob, const BlobStore& store, std::function<void(std::uint64_t)> got);

  // Uploads a blob of `size` bytes from a file, if the registry does not have it.
  Task<void> upload(std::string digest, int file, std::uint64_t size);
  Task<void> put_manifest(std::string version, std::string bytes);

 private:
  struct Ask {
    std::string method = "GET";
    Url url{};
    std::string accept{}, range{}, type{}, body{};
    int file = -1;  // the body instead
    std::uint64_t length = 0;
  };
  Url at(const std::string& path) const;
  Task<http::ClientResponse> ask(Ask ask, std::string what);
  Task<http::ClientResponse> follow(Ask ask);
  Task<http::ClientResponse> send(const Ask& ask, bool with_login);
  Result<http::Client*> client_of(const Url& url);
  bool is_own(const Url& url) const;
  Task<void> authorize(Challenge challenge);
  Task<void> take_token(Challenge challenge);
  Task<void> fetch_rest(Descriptor blob, const BlobStore& store, BlobPart& part,
                        std::function<void(std::uint64_t)> got);
  Error refusal(int status, const std::string& what) const;
  // The registry or its mirror, for people.
  std::string where() const;

  asio::any_io_executor loop_;
  RegistryAccess access_;
  core::Told told_;
  Url base_;
  std::string repository_;
  std::int64_t busy_seconds_ = 0;  // that the last answer 429 demanded
  std::string authorization_;
  std::map<std::string, std::unique_ptr<http::Client>> clients_;  // by origin
};

}  // namespace cay::image
