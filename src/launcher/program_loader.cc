#include "launcher/program_loader.h"

#include <string_view>
#include <utility>

#include "launcher/bpf_object.h"

extern "C" {
extern const char cay_programs_blob[];
extern const char cay_programs_blob_end[];
}

namespace cay::launcher {
namespace {

Result<ProgramPart> load() {
  CAY_TRY(const BpfObject object, load_bpf_object({cay_programs_blob, cay_programs_blob_end}));
  ProgramPart part;
  CAY_TRY(part.rings,
          keep_descriptor(bpf_object__find_map_fd_by_name(object.get(), "cay_rings"), "a map"));
  CAY_TRY(part.states,
          keep_descriptor(bpf_object__find_map_fd_by_name(object.get(), "cay_states"), "a map"));
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    CAY_TRY(UniqueFd link, attach(program));
    part.links.push_back(std::move(link));
  }
  return part;
}

}  // namespace

Result<ProgramPart> load_program_part() {
  auto part = load();
  if (part) return part;
  const Error& error = part.error();
  return Error{Code::kUnsupported, "programs_unsupported",
               "this host cannot record programs (" + error.message +
                   "): its kernel needs CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS, and must let "
                   "root load BPF "
                   "programs; create the sandbox without record_programs, or see `cay doctor`",
               error.os_errno};
}

}  // namespace cay::launcher
