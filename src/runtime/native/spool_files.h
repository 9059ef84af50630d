// Files that a keeper left in its spool, opened without trust in their names or kinds.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/ids.h"

namespace cay::runtime {

// A regular file that a keeper wrote, and not a second name of somebody else's.
Result<UniqueFd> open_kept(int dir, const char* name);
Result<UniqueFd> open_directory(int at, const std::string& name);
// The sandbox's spool directory; an empty descriptor if it never was started. `spool`: DATA/spool.
Result<UniqueFd> open_spool(const std::string& spool, const SandboxId& id);

// The host is out of descriptors or of memory: what could not be opened is there all the same.
bool is_out_of_breath(const Error& error);

}  // namespace cay::runtime
