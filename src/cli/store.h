// The actions of `cay snapshot` on the store: fsck and export.
#pragma once
#include "cli/args.h"
#include "cli/context.h"

namespace cay::cli {

int check_store(Context& at, const SnapshotArgs& args);
int export_snapshot(Context& at, const SnapshotArgs& args);

}  // namespace cay::cli
