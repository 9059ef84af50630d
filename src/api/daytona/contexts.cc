#include "api/daytona/contexts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/common/answer.h"
#include "api/common/tar.h"

namespace cay::api::daytona {
namespace {

constexpr UnixMillis kUploadEnds = 30LL * 60 * 1000;
constexpr std::size_t kMostUploads = 16;

Error too_large() {
  return {Code::kExhausted, "context_too_large",
          "Cay takes build contexts of at most " + std::to_string(Contexts::kMostBytes >> 20) +
              " MiB: leave files out, or fetch them in a RUN",
          0};
}

Error no_upload() { return {Code::kNotFound, "no_such_upload", "there is no such upload", 0}; }

std::string object_of(const TenantId& tenant, const std::string& hash) {
  return tenant.get() + "/" + hash + "/context.tar";
}

// The bytes of an archive that is kept. It may be removed meanwhile.
class KeptBytes final : public ByteSource {
 public:
  explicit KeptBytes(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}
  Task<Bytes> next() override {
    constexpr std::size_t kPiece = 64 * 1024;
    const std::size_t length = std::min(kPiece, bytes_->size() - at_);
    Bytes piece(bytes_->substr(at_, length));
    at_ += length;
    co_return piece;
  }

 private:
  const std::shared_ptr<const std::string> bytes_;
  std::size_t at_ = 0;
};

// One tree after the other.
class JoinedTrees final : public core::TreeSource {
 public:
  explicit JoinedTrees(std::vector<std::shared_ptr<const std::string>> archives)
      : archives_(std::move(archives)) {}

  Task<std::optional<core::TreeEvent>> next() override {
    for (;;) {
      if (!tree_) {
        if (at_ == archives_.size()) co_return std::optional<core::TreeEvent>();
        tree_ = tree_of_tar(std::make_unique<KeptBytes>(archives_[at_]));
        ++at_;
      }
      CAY_CO_TRY(auto event, co_await tree_->next());
      if (event) co_return event;
      tree_.reset();
    }
  }

 private:
  const std::vector<std::shared_ptr<const std::string>> archives_;
  std::size_t at_ = 0;
  std::unique_ptr<core::TreeSource> tree_;
};

}  // namespace

bool Contexts::has(const TenantId& tenant, const std::string& prefix) const {
  const auto found = all_.lower_bound({tenant, prefix});
  return found != all_.end() && found->first.first == tenant &&
         found->first.second.starts_with(prefix);
}

std::size_t Contexts::size_of(const TenantId& tenant, const std::string& key) const {
  const auto found = all_.find({tenant, key});
  return found == all_.end() ? 0 : found->second.bytes->size();
}

Result<void> Contexts::put(const TenantId& tenant, const std::string& key, std::string bytes) {
  if (bytes.size() > kMostBytes) return too_large();
  if (!key.starts_with(tenant.get() + "/") || !key.ends_with("/context.tar") || bytes.empty())
    return invalid("invalid_context", "a context is an archive at ORGANIZATION/HASH/context.tar");
  if (const auto old = all_.find({tenant, key}); old != all_.end()) {
    bytes_ -= old->second.bytes->size();
    all_.erase(old);
  }
  make_room(bytes.size());
  bytes_ += bytes.size();
  all_[{tenant, key}] = {std::make_shared<const std::string>(std::move(bytes)), ++uses_};
  return {};
}

void Contexts::make_room(std::size_t bytes) {
  while (!all_.empty() && bytes_ + bytes > kMostOfAll) {
    const auto oldest = std::min_element(
        all_.begin(), all_.end(),
        [](const auto& one, const auto& other) { return one.second.used < other.second.used; });
    bytes_ -= oldest->second.bytes->size();
    all_.erase(oldest);
  }
}

std::string Contexts::begin(const TenantId& tenant, const std::string& key) {
  const UnixMillis now = system_clock().wall();
  std::erase_if(uploads_, [&](const auto& one) { return one.second.begun_at + kUploadEnds < now; });
  while (uploads_.size() >= kMostUploads) {
    uploads_.erase(
        std::min_element(uploads_.begin(), uploads_.end(), [](const auto& one, const auto& other) {
          return one.second.begun_at < other.second.begun_at;
        }));
  }
  std::string id = new_uuid();
  uploads_[id] = {.tenant = tenant, .key = key, .begun_at = now};
  return id;
}

Result<void> Contexts::put_part(const TenantId& tenant, const std::string& upload,
                                std::uint32_t number, std::string bytes) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end() || found->second.tenant != tenant) return no_upload();
  Upload& under_way = found->second;
  std::string& part = under_way.parts[number];
  under_way.bytes -= part.size();
  under_way.bytes += bytes.size();
  part = std::move(bytes);
  if (under_way.bytes <= kMostBytes) return {};
  uploads_.erase(found);
  return too_large();
}

Result<void> Contexts::complete(const TenantId& tenant, const std::string& upload) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end() || found->second.tenant != tenant) return no_upload();
  std::string bytes;
  bytes.reserve(found->second.bytes);
  for (const auto& [number, part] : found->second.parts) bytes += part;
  const std::string key = found->second.key;
  uploads_.erase(found);
  return put(tenant, key, std::move(bytes));
}

void Contexts::give_up(const TenantId& tenant, const std::string& upload) {
  const auto found = uploads_.find(upload);
  if (found != uploads_.end() && found->second.tenant == tenant) uploads_.erase(found);
}

Result<std::unique_ptr<ByteSource>> Contexts::joined(const TenantId& tenant,
                                                     const std::vector<std::string>& hashes) {
  std::vector<std::shared_ptr<const std::string>> archives;
  for (const std::string& hash : hashes) {
    const auto found = all_.find({tenant, object_of(tenant, hash)});
    if (found == all_.end()) {
      return invalid("no_build_context", "build context " + hash.substr(0, 64) +
                                             " is not here: upload it, and try again");
    }
    found->second.used = ++uses_;
    archives.push_back(found->second.bytes);
  }
  if (archives.empty()) return std::unique_ptr<ByteSource>();
  return tar_of(std::make_unique<JoinedTrees>(std::move(archives)), "context");
}

}  // namespace cay::api::daytona
