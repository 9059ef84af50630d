#include "launcher/store_verbs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "launcher/default_snapshot.h"
#include "launcher/layer_store.h"
#include "launcher/store_check.h"
#include "launcher/validate.h"
#include "launcher/volumes.h"
#include "os/file.h"

namespace cay::launcher {

bool StoreVerbs::serve(const ReplyTo& to, wire::Type type, const std::string& payload) {
  if (static_cast<wire::StoreCheckType>(type) == wire::StoreCheckType::kCheckStore) {
    check(to, payload);
    return true;
  }
  switch (type) {
    case wire::Type::kSealLayer: seal(to, payload); return true;
    case wire::Type::kListLayers: list_all_layers(to); return true;
    case wire::Type::kRemoveSnapshot: remove_snapshot(to, payload); return true;
    case wire::Type::kMakeVolume: make(to, payload); return true;
    case wire::Type::kRemoveVolume: remove(to, payload); return true;
    case wire::Type::kListVolumes: list_all_volumes(to); return true;
    default: return false;
  }
}

void StoreVerbs::seal(const ReplyTo& to, const std::string& payload) {
  const auto request = wire::decode<wire::SealLayer>(payload);
  if (!request || !is_uuid(request->sandbox_id) || !is_uuid(request->layer_id))
    return malformed(to);
  const std::string& id = request->layer_id;
  if (sealing_.contains(id)) {
    return reply_error(
        outbox_, to,
        Error{Code::kAlreadyExists, "layer_exists", "layer " + id + " is being sealed", 0});
  }
  auto stack = sandboxes_.bases().stack_below(request->sandbox_id);
  if (!stack) return reply_error(outbox_, to, stack.error());
  sealing_[id] = *stack;
  start_job_(
      to,
      [this, from = request->sandbox_id, id, stack = *stack](const ChildJob::Emit& emit) {
        const auto made = seal_layer(host_, from, stack, id);
        if (made) {
          emit(wire::Type::kLayer, wire::encode(*made));
        } else {
          emit(wire::Type::kError, error_frame(0, made.error()).payload);
        }
      },
      [this, id] { sealing_.erase(id); });
}

void StoreVerbs::list_all_layers(const ReplyTo& to) {
  const auto layers = list_layers(host_);
  if (!layers) return reply_error(outbox_, to, layers.error());
  for (const wire::LayerMsg& layer : *layers) reply(outbox_, to, wire::Type::kLayer, layer);
  reply(outbox_, to, wire::Type::kEof, wire::Eof{});
}

void StoreVerbs::check(const ReplyTo& to, const std::string& payload) {
  const auto request = wire::decode<wire::CheckStore>(payload);
  if (!request) return malformed(to);
  std::set<std::string> busy = removing_;
  for (const auto& [id, stack] : sealing_) busy.insert(id);
  const auto found =
      check_store(host_, busy, request->repair ? StoreRepair::kYes : StoreRepair::kNo);
  if (!found) return reply_error(outbox_, to, found.error());
  const auto type = static_cast<wire::Type>(wire::StoreCheckType::kStoreFinding);
  for (const wire::StoreFindingMsg& one : *found) reply(outbox_, to, type, one);
  reply(outbox_, to, wire::Type::kEof, wire::Eof{});
}

std::size_t StoreVerbs::users_of(const std::string& layer) const {
  const auto being_sealed = std::count_if(sealing_.begin(), sealing_.end(), [&](const auto& item) {
    return item.first == layer ||
           std::find(item.second.begin(), item.second.end(), layer) != item.second.end();
  });
  return static_cast<std::size_t>(being_sealed) + layers_above(host_, layer);
}

void StoreVerbs::remove_snapshot(const ReplyTo& to, const std::string& payload) {
  const auto request = wire::decode<wire::SnapshotMsg>(payload);
  if (!request || !is_uuid(request->id)) return malformed(to);
  const std::string& id = request->id;
  struct stat info{};
  const bool sealed = ::fstatat(host_.layers.get(), (id + "/root").c_str(), &info, 0) != 0;
  const std::size_t sandboxes = sandboxes_.bases().users_of_snapshot(id);
  const std::size_t layers = users_of(id);
  if (sandboxes + layers > 0) {
    const std::string above = layers == 0 ? "" : std::to_string(layers) + " layers and ";
    return reply_error(outbox_, to,
                       Error{Code::kConflict, sealed ? "layer_in_use" : "snapshot_in_use",
                             "snapshot " + id + " is the base of " + above +
                                 std::to_string(sandboxes) + " sandboxes: delete them first",
                             0});
  }
  // Renamed at once, so that no sandbox can begin on it; removed at leisure.
  const std::string going = kRemovingSnapshot + id;
  if (::renameat(host_.layers.get(), id.c_str(), host_.layers.get(), going.c_str()) != 0 &&
      errno != ENOENT) {
    return reply_error(outbox_, to, Error::from_errno(errno, "remove snapshot " + id));
  }
  removing_.insert(id);
  start_job_(
      to,
      [this, id, going](const ChildJob::Emit& emit) {
        auto removed = remove_sealed(host_, id);
        if (removed) removed = os::remove_tree(host_.layers.get(), going);
        if (removed) {
          emit(wire::Type::kOk, "");
        } else {
          emit(wire::Type::kError, error_frame(0, removed.error()).payload);
        }
      },
      [this, id] { removing_.erase(id); });
}

void StoreVerbs::make(const ReplyTo& to, const std::string& payload) {
  const auto request = wire::decode<wire::VolumeMsg>(payload);
  if (!request || !is_uuid(request->volume_id) || request->limit_bytes == 0) return malformed(to);
  answer(to, make_volume(host_, *request));
}

void StoreVerbs::remove(const ReplyTo& to, const std::string& payload) {
  const auto request = wire::decode<wire::VolumeMsg>(payload);
  if (!request || !is_uuid(request->volume_id)) return malformed(to);
  const std::size_t users = sandboxes_.bases().users_of_volume(request->volume_id);
  if (users > 0) {
    return reply_error(outbox_, to,
                       Error{Code::kConflict, "volume_in_use",
                             "volume " + request->volume_id + " is mounted in " +
                                 std::to_string(users) + " sandboxes: stop them first",
                             0});
  }
  answer(to, remove_volume(host_, request->volume_id));
}

void StoreVerbs::list_all_volumes(const ReplyTo& to) {
  const auto volumes = list_volumes(host_);
  if (!volumes) return reply_error(outbox_, to, volumes.error());
  for (const wire::VolumeMsg& volume : *volumes) reply(outbox_, to, wire::Type::kVolume, volume);
  reply(outbox_, to, wire::Type::kEof, wire::Eof{});
}

void StoreVerbs::answer(const ReplyTo& to, const Result<void>& done) {
  if (!done) return reply_error(outbox_, to, Result<void>(done).error());
  reply(outbox_, to, wire::Type::kOk, wire::Empty{});
}

void StoreVerbs::malformed(const ReplyTo& to) {
  reply_error(outbox_, to,
              Error{Code::kInvalidArgument, "bad_request", "malformed request to the launcher", 0});
}

}  // namespace cay::launcher
