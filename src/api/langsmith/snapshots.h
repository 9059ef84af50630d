// Snapshots: lists, builds from images, captures (protocol reference, section 2.4, 9 and 14 to 18).
#pragma once
#include "api/langsmith/config.h"
#include "model/snapshot.h"

namespace cay::api::langsmith {

codec::json::object snapshot_json(const SnapshotInfo& snapshot);

Task<http::Response> list_snapshots(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> snapshot_tags(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> create_snapshot(core::Cay& cay, Limits maximum, ExchangePtr exchange);
Task<http::Response> delete_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> capture_box(core::Cay& cay, Limits maximum, ExchangePtr exchange);

}  // namespace cay::api::langsmith
