#include "client/api.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

VolumeStore Client::volume_store() const { return VolumeStore(state_); }

std::vector<Volume> VolumeStore::list() const {
  return state_->wait(api::volumes(state_->connection));
}

Volume VolumeStore::get(const std::string& ref) const {
  return state_->wait(api::volume(state_->connection, ref));
}

Volume VolumeStore::create(const std::string& name, std::uint64_t disk_bytes) const {
  return state_->wait(api::create_volume(state_->connection, name, disk_bytes));
}

Volume VolumeStore::resize(const std::string& ref, std::uint64_t disk_bytes) const {
  return state_->wait(api::resize_volume(state_->connection, ref, disk_bytes));
}

void VolumeStore::remove(const std::string& ref) const {
  state_->wait(api::remove_volume(state_->connection, ref));
}

}  // namespace cay::sdk
