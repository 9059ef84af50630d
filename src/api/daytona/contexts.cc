#include "api/daytona/contexts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/common/answer.h"
#include "api/common/tar.h"

namespace cay::api::daytona {
namespace {

Error too_large() {
  return {Code::kExhausted, "context_too_large",
          "Cay takes build contexts of at most " + std::to_string(Contexts::kMostBytes >> 20) +
              " MiB: leave files out, or fetch them in a RUN",
          0};
}

Error no_room() {
  return {Code::kExhausted, "no_context_room",
          "the build contexts of all tenants fill Cay's memory for them: try again later", 0};
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

const Contexts::Kept* Contexts::find(const TenantId& tenant, const std::string& key) const {
  const auto room = rooms_.find(tenant);
  if (room == rooms_.end()) return nullptr;
  const auto found = room->second.archives.find(key);
  return found == room->second.archives.end() ? nullptr : &found->second;
}

bool Contexts::has(const TenantId& tenant, const std::string& prefix) const {
  const auto room = rooms_.find(tenant);
  if (room == rooms_.end()) return false;
  const auto found = room->second.archives.lower_bound(prefix);
  return found != room->second.archives.end() && found->first.starts_with(prefix);
}

std::size_t Contexts::size_of(const TenantId& tenant, const std::string& key) const {
  const Kept* found = find(tenant, key);
  return found == nullptr ? 0 : found->bytes->size();
}

void Contexts::drop(Room& room, std::map<std::string, Upload>::iterator upload) {
  room.bytes -= upload->second.bytes;
  bytes_ -= upload->second.bytes;
  room.uploads.erase(upload);
}

void Contexts::drop_oldest(Room& room) {
  const auto oldest =
      std::ranges::min_element(room.archives, {}, [](const auto& one) { return one.second.used; });
  room.bytes -= oldest->second.bytes->size();
  bytes_ -= oldest->second.bytes->size();
  room.archives.erase(oldest);
}

void Contexts::forget_old() {
  const UnixMillis now = system_clock().wall();
  for (auto at = rooms_.begin(); at != rooms_.end();) {
    Room& room = at->second;
    for (auto one = room.uploads.begin(); one != room.uploads.end();) {
      const auto upload = one++;
      if (upload->second.begun_at + kUploadEnds < now) drop(room, upload);
    }
    while (!room.archives.empty()) {
      const auto oldest = std::ranges::min_element(room.archives, {},
                                                   [](const auto& one) { return one.second.used; });
      if (oldest->second.used_at + kUnusedFor >= now) break;
      drop_oldest(room);
    }
    at = room.archives.empty() && room.uploads.empty() ? rooms_.erase(at) : std::next(at);
  }
}

Result<void> Contexts::make_room(Room& room, std::size_t bytes) {
  while (room.bytes + bytes > kMostOfTenant) {
    if (room.archives.empty()) return too_large();
    drop_oldest(room);
  }
  if (bytes_ + bytes > kMostOfAll) return no_room();
  return {};
}

Result<void> Contexts::put(const TenantId& tenant, const std::string& key, std::string bytes) {
  if (bytes.size() > kMostBytes) return too_large();
  if (!key.starts_with(tenant.get() + "/") || !key.ends_with("/context.tar") || bytes.empty())
    return invalid("invalid_context", "a context is an archive at ORGANIZATION/HASH/context.tar");
  forget_old();
  Room& room = rooms_[tenant];
  if (const auto old = room.archives.find(key); old != room.archives.end()) {
    room.bytes -= old->second.bytes->size();
    bytes_ -= old->second.bytes->size();
    room.archives.erase(old);
  }
  CAY_CHECK(make_room(room, bytes.size()));
  room.bytes += bytes.size();
  bytes_ += bytes.size();
  room.archives[key] = {std::make_shared<const std::string>(std::move(bytes)), ++uses_,
                        system_clock().wall()};
  return {};
}

std::string Contexts::begin(const TenantId& tenant, const std::string& key) {
  forget_old();
  Room& room = rooms_[tenant];
  while (room.uploads.size() >= kMostUploads) {
    drop(room, std::ranges::min_element(room.uploads, {},
                                        [](const auto& one) { return one.second.begun_at; }));
  }
  std::string id = new_uuid();
  room.uploads[id] = {.key = key, .begun_at = system_clock().wall()};
  return id;
}

Result<void> Contexts::put_part(const TenantId& tenant, const std::string& upload,
                                std::uint32_t number, std::string bytes) {
  const auto at = rooms_.find(tenant);
  if (at == rooms_.end()) return no_upload();
  Room& room = at->second;
  const auto found = room.uploads.find(upload);
  if (found == room.uploads.end()) return no_upload();
  Upload& under_way = found->second;
  std::string& part = under_way.parts[number];
  const auto count = [&](std::size_t& sum) { sum = sum - part.size() + bytes.size(); };
  if (under_way.bytes - part.size() + bytes.size() > kMostBytes) {
    drop(room, found);
    return too_large();
  }
  CAY_CHECK(make_room(room, bytes.size()));
  count(under_way.bytes);
  count(room.bytes);
  count(bytes_);
  part = std::move(bytes);
  return {};
}

Result<void> Contexts::complete(const TenantId& tenant, const std::string& upload) {
  const auto at = rooms_.find(tenant);
  if (at == rooms_.end()) return no_upload();
  const auto found = at->second.uploads.find(upload);
  if (found == at->second.uploads.end()) return no_upload();
  std::string bytes;
  bytes.reserve(found->second.bytes);
  for (const auto& [number, part] : found->second.parts) bytes += part;
  const std::string key = found->second.key;
  drop(at->second, found);
  return put(tenant, key, std::move(bytes));
}

void Contexts::give_up(const TenantId& tenant, const std::string& upload) {
  const auto at = rooms_.find(tenant);
  if (at == rooms_.end()) return;
  const auto found = at->second.uploads.find(upload);
  if (found != at->second.uploads.end()) drop(at->second, found);
}

Result<std::unique_ptr<ByteSource>> Contexts::joined(const TenantId& tenant,
                                                     const std::vector<std::string>& hashes) {
  std::vector<std::shared_ptr<const std::string>> archives;
  for (const std::string& hash : hashes) {
    const std::string key = object_of(tenant, hash);
    if (find(tenant, key) == nullptr) {
      return invalid("no_build_context", "build context " + hash.substr(0, 64) +
                                             " is not here: upload it, and try again");
    }
    Kept& kept = rooms_[tenant].archives[key];
    kept.used = ++uses_;
    kept.used_at = system_clock().wall();
    archives.push_back(kept.bytes);
  }
  if (archives.empty()) return std::unique_ptr<ByteSource>();
  return tar_of(std::make_unique<JoinedTrees>(std::move(archives)), "context");
}

}  // namespace cay::api::daytona
