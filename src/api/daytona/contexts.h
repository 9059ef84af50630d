// The archives of files that builds read. Clients upload each under a hash of its content before
// they request a build. They are in memory. A client whose archive is gone uploads it again.
//
// A tenant has room of its own. Beyond it, its own oldest archives go, and never those of others.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "model/ids.h"

namespace cay::api::daytona {

class Contexts {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;      // of one archive
  static constexpr std::size_t kMostOfTenant = std::size_t{128} << 20;  // beyond it the oldest go
  static constexpr std::size_t kMostOfAll = std::size_t{512} << 20;     // of all tenants
  static constexpr std::size_t kMostUploads = 16;  // of a tenant at once, beyond them the oldest go
  static constexpr UnixMillis kUnusedFor = 60LL * 60 * 1000;   // then an archive goes
  static constexpr UnixMillis kUploadEnds = 30LL * 60 * 1000;  // so an upload that is given up

  // `key`: the path of the object, "TENANT/HASH/context.tar".
  bool has(const TenantId& tenant, const std::string& prefix) const;
  std::size_t size_of(const TenantId& tenant, const std::string& key) const;  // 0: not there
  // Fails kExhausted (context_too_large; no_context_room: those of all tenants fill the memory),
  // kInvalidArgument (invalid_context).
  Result<void> put(const TenantId& tenant, const std::string& key, std::string bytes);

  // An upload in parts, which come in any order.
  std::string begin(const TenantId& tenant, const std::string& key);
  // Fails kNotFound (no_such_upload), and as put().
  Result<void> put_part(const TenantId& tenant, const std::string& upload, std::uint32_t number,
                        std::string bytes);
  Result<void> complete(const TenantId& tenant, const std::string& upload);
  void give_up(const TenantId& tenant, const std::string& upload);

  // One archive of all of them. Null: there are no hashes. Fails kInvalidArgument
  // (no_build_context).
  Result<std::unique_ptr<ByteSource>> joined(const TenantId& tenant,
                                             const std::vector<std::string>& hashes);

 private:
  struct Upload {
    std::string key;
    std::map<std::uint32_t, std::string> parts{};
    std::size_t bytes = 0;
    UnixMillis begun_at = 0;
  };
  struct Kept {
    std::shared_ptr<const std::string> bytes;
    std::uint64_t used = 0;  // a later use has a higher number
    UnixMillis used_at = 0;
  };
  struct Room {
    std::map<std::string, Kept> archives{};
    std::map<std::string, Upload> uploads{};
    std::size_t bytes = 0;  // of both
  };

  const Kept* find(const TenantId& tenant, const std::string& key) const;
  void forget_old();
  void drop(Room& room, std::map<std::string, Upload>::iterator upload);
  void drop_oldest(Room& room);
  // Makes room for so many bytes more of a tenant, from its own.
  Result<void> make_room(Room& room, std::size_t bytes);

  std::map<TenantId, Room> rooms_;
  std::size_t bytes_ = 0;  // of all rooms
  std::uint64_t uses_ = 0;
};

}  // namespace cay::api::daytona
