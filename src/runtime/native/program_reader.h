// Pages of a sandbox's program record (wire/program_record.h), from the file that its keeper
// appends to.
#pragma once
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "model/program.h"

namespace cay::runtime {

// kInvalidArgument (bad_offset): no record begins there. Past what is there: an empty page.
Result<ProgramPage> read_programs(const std::string& spool, const SandboxId& id,
                                  std::uint64_t offset, std::uint32_t limit);

}  // namespace cay::runtime
