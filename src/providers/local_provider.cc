#include "providers/local_provider.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/sha256.h"
#include "providers/environment.h"
#include "providers/local_backend.h"

namespace cay::providers {
namespace {

namespace fs = std::filesystem;

// Returns the parent of the claims' directories, beside the threads' log.
std::string default_state_directory() {
  if (auto set = first_set({"CAY_STATE_DIR"}); !set.empty()) return set + "/local";
  if (auto set = first_set({"XDG_STATE_HOME"}); !set.empty()) return set + "/cay/local";
  return first_set({"HOME"}) + "/.local/share/cay/local";
}

// A claim as a name of a directory.
std::string name_of(const std::string& claim) {
  std::string out;
  for (const char c : claim) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    out += plain ? c : '-';
  }
  return out.substr(0, 40) + "-" + sha256_hex(claim).substr(0, 8);
}

Error unusable(const std::string& directory, int err) {
  return Error::from_errno(err, "use the directory " + directory, "local_directory");
}

class LocalProvider final : public Provider {
 public:
  LocalProvider(asio::any_io_executor executor, std::string state_directory)
      : executor_(std::move(executor)), state_directory_(std::move(state_directory)) {}

  Task<std::unique_ptr<Backend>> open(SandboxRequest request) override {
    auto refused = refuse_paths(request, "local");
    if (!refused) co_return std::move(refused).error();
    auto directory = directory_of(request);
    if (!directory) co_return std::move(directory).error();
    co_return std::unique_ptr<Backend>(
        std::make_unique<LocalBackend>(executor_, *std::move(directory)));
  }

  // Removes a directory that open() made, and no other.
  Task<void> remove(std::string id) override {
    const fs::path path(id);
    std::error_code failed;
    const bool is_temporary = path.parent_path() == fs::temp_directory_path(failed) &&
                              path.filename().string().starts_with("cay-agent-");
    const bool ours = is_temporary || path.parent_path() == fs::path(state_directory_);
    if (ours) fs::remove_all(path, failed);
    if (failed) co_return unusable(id, failed.value());
    co_return Result<void>();
  }

 private:
  Result<std::string> directory_of(const SandboxRequest& request) {
    std::error_code failed;
    if (!request.id.empty()) {
      if (!fs::is_directory(request.id, failed)) {
        return Error{Code::kNotFound, "sandbox_not_found", "there is no directory " + request.id,
                     0};
      }
      return fs::canonical(request.id, failed).string();
    }
    if (!request.claim.empty()) {
      const std::string path = state_directory_ + "/" + name_of(request.claim);
      fs::create_directories(path, failed);
      if (failed) return unusable(path, failed.value());
      fs::permissions(path, fs::perms::owner_all, failed);
      return fs::canonical(path, failed).string();
    }
    std::string path = (fs::temp_directory_path(failed) / "cay-agent-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return unusable(path, errno);
    return path;
  }

  asio::any_io_executor executor_;
  std::string state_directory_;
};

}  // namespace

std::unique_ptr<Provider> make_local_provider(asio::any_io_executor executor,
                                              std::string state_directory) {
  if (state_directory.empty()) state_directory = default_state_directory();
  return std::make_unique<LocalProvider>(std::move(executor), std::move(state_directory));
}

}  // namespace cay::providers
