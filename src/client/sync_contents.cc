#include <exception>
#include <memory>
#include <utility>

#include "client/api.h"
#include "client/read_ahead.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

DiffSummary Sandbox::diff(const OnChange& change) const {
  auto source = state_->client->wait(api::diff(state_->client->connection, state_->at()));
  api::ReadAhead from(state_->client->loop, std::move(source));
  api::DiffReader reader(change);
  for (;;) {
    const std::string piece = api::value_or_raise(from.next());
    if (piece.empty()) break;
    api::value_or_raise(reader.add(piece));
  }
  return api::value_or_raise(reader.finish());
}

void SnapshotStore::export_archive(const std::string& ref, const ByteSink& sink) const {
  auto source = state_->wait(api::export_snapshot(state_->connection, ref));
  api::ReadAhead from(state_->loop, std::move(source));
  for (;;) {
    const std::string piece = api::value_or_raise(from.next());
    if (piece.empty()) return;
    sink(piece);
  }
}

StoreReport SnapshotStore::check(bool repair) const {
  return state_->wait(api::check_store(state_->connection, repair));
}

}  // namespace cay::sdk
