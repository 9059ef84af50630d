// What the launcher's kernel parts have in common: loading one that is carried inside, telling it our pid
// namespace, attaching its programs. Loading reads the kernel's type information, which takes tens of milliseconds and as many
// megabytes: all of it is for a forked child that hands the descriptors on.
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

// What a step of loading answered. kUnsupported (programs_unsupported): "STEP: ERRNO".
Error bpf_error(int err, std::string_view step);

// In the kernel, not attached yet; its constant `outer_namespace` (its only one) is our pid namespace: a sandbox's is its child.
Result<BpfObject> load_bpf_object(std::string_view blob);
// A descriptor that outlives the object it is of.
Result<UniqueFd> keep_descriptor(int fd, std::string_view what);
// Attached as long as one process holds the descriptor.
Result<UniqueFd> attach(bpf_program* program);

}  // namespace cay::launcher
