// parse_tar: libarchive's tar reader between the two sides of a TarHandover. It blocks: it runs on a
// thread of its own, and ends soon after the handover is closed.
#pragma once
#include "api/common/tar.h"
#include "api/common/tar_handover.h"

namespace cay::api {

// Up to the end mark; what follows it is left in the source.
Result<void> parse_tar(TarHandover& handover, TarLimits limits);

}  // namespace cay::api
