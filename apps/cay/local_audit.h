// Audit lines of commands that run on the daemon's own machine and use no daemon. They go to
// DATA/audit.log and audit-changes.log beside those of requests.
#pragma once
#include <string>

#include "base/result.h"
#include "codec/json.h"

namespace cay::app {

// `what`: the event and what it was done to; the time and the local user are added. Made as the
// daemon makes it, with the directory's owner, if they are not there yet; never turned over, which
// is the daemon's to do.
Result<void> note_locally(const std::string& data_dir, codec::json::object what);

}  // namespace cay::app
