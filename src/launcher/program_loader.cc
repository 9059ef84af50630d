#include "launcher/program_loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

extern "C" {
extern const char cay_programs_blob[];
extern const char cay_programs_blob_end[];
}

namespace cay::launcher {
namespace {

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};

Error unsupported(int err, const std::string& step) {
  const int number = err < 0 ? -err : err;
  return Error{Code::kUnsupported, "programs_unsupported",
               "this host cannot record programs (" + step + ": " + std::strerror(number) +
                   "): its kernel needs CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS, and must let root load BPF "
                   "programs; create the sandbox without record_programs, or see `cay doctor`",
               number};
}

Result<UniqueFd> own(int fd, const char* what) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) return unsupported(errno, std::string("keep ") + what);
  return copy;
}

// A sandbox's pid namespace is a child of ours: so the kernel part tells who is inside.
Result<void> tell_namespace(bpf_object* object) {
  struct stat info{};
  if (::stat("/proc/self/ns/pid", &info) != 0) return Error::from_errno(errno, "stat the pid namespace");
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (std::strstr(bpf_map__name(map), ".rodata") == nullptr) continue;
    const auto number = static_cast<unsigned>(info.st_ino);
    std::size_t size = 0;
    if (bpf_map__initial_value(map, &size) == nullptr || size != sizeof number) break;
    const int err = bpf_map__set_initial_value(map, &number, sizeof number);
    if (err != 0) return unsupported(err, "tell the pid namespace");
    return {};
  }
  return unsupported(EINVAL, "tell the pid namespace");
}

}  // namespace

Result<ProgramPart> load_program_part() {
  libbpf_set_print(nullptr);  // the error below is all that is to be said
  const auto size = static_cast<std::size_t>(cay_programs_blob_end - cay_programs_blob);
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = "cay";
  const std::unique_ptr<bpf_object, CloseObject> object(bpf_object__open_mem(cay_programs_blob, size, &options));
  if (!object) return unsupported(errno, "read the kernel part");
  CAY_CHECK(tell_namespace(object.get()));
  const int loaded = bpf_object__load(object.get());
  if (loaded != 0) return unsupported(loaded, "load the kernel part");
  ProgramPart part;
  CAY_TRY(part.rings, own(bpf_object__find_map_fd_by_name(object.get(), "cay_rings"), "a map"));
  CAY_TRY(part.states, own(bpf_object__find_map_fd_by_name(object.get(), "cay_states"), "a map"));
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) return unsupported(errno, std::string("attach ") + bpf_program__name(program));
    auto kept = own(bpf_link__fd(link), "a tracepoint");
    bpf_link__destroy(link);
    if (!kept) return std::move(kept).error();
    part.links.push_back(std::move(*kept));
  }
  return part;
}

}  // namespace cay::launcher
