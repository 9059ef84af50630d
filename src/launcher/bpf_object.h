// The launcher's kernel parts share how they are loaded: one that is carried inside gets our pid
// namespace, and its programs are attached. Loading reads the kernel's type information, which
// takes tens of milliseconds and as many megabytes. So a forked child does it and hands the
// descriptors on.
#pragma once
#include <bpf/libbpf.h>

#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct CloseBpfObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using BpfObject = std::unique_ptr<bpf_object, CloseBpfObject>;

// Returns the error of a step of loading. kUnsupported (programs_unsupported): "STEP: ERRNO".
Error bpf_error(int err, std::string_view step);

// In the kernel, not attached yet; its constant `outer_namespace` (its only one) is our pid
// namespace: a sandbox's is its child.
Result<BpfObject> load_bpf_object(std::string_view blob);
// A descriptor that outlives the object it is of.
Result<UniqueFd> keep_descriptor(int fd, std::string_view what);
// Attached as long as one process holds the descriptor.
Result<UniqueFd> attach(bpf_program* program);

}  // namespace cay::launcher
