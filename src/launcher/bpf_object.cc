#include "launcher/bpf_object.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace cay::launcher {

namespace {

Result<BpfObject> open_bpf_object(std::string_view blob) {
  libbpf_set_print(nullptr);  // the error alone is reported
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = "cay";
  BpfObject object(bpf_object__open_mem(blob.data(), blob.size(), &options));
  if (!object) return bpf_error(errno, "read the kernel part");
  return object;
}

Result<void> tell_namespace(bpf_object* object) {
  struct stat info{};
  if (::stat("/proc/self/ns/pid", &info) != 0)
    return Error::from_errno(errno, "stat the pid namespace");
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (std::strstr(bpf_map__name(map), ".rodata") == nullptr) continue;
    const auto number = static_cast<unsigned>(info.st_ino);
    std::size_t size = 0;
    if (bpf_map__initial_value(map, &size) == nullptr || size != sizeof number) break;
    const int err = bpf_map__set_initial_value(map, &number, sizeof number);
    if (err != 0) return bpf_error(err, "set the pid namespace");
    return {};
  }
  return bpf_error(EINVAL, "set the pid namespace");
}

}  // namespace

Error bpf_error(int err, std::string_view step) {
  const int number = err < 0 ? -err : err;
  return Error{Code::kUnsupported, "programs_unsupported",
               std::string(step) + ": " + std::strerror(number), number};
}

Result<BpfObject> load_bpf_object(std::string_view blob) {
  CAY_TRY(BpfObject object, open_bpf_object(blob));
  CAY_CHECK(tell_namespace(object.get()));
  const int loaded = bpf_object__load(object.get());
  if (loaded != 0) return bpf_error(loaded, "load the kernel part");
  return object;
}

Result<UniqueFd> keep_descriptor(int fd, std::string_view what) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) return bpf_error(errno, "keep " + std::string(what));
  return copy;
}

Result<UniqueFd> attach(bpf_program* program) {
  bpf_link* link = bpf_program__attach(program);
  if (link == nullptr) return bpf_error(errno, std::string("attach ") + bpf_program__name(program));
  auto kept = keep_descriptor(bpf_link__fd(link), "a tracepoint");
  bpf_link__destroy(link);
  return kept;
}

}  // namespace cay::launcher
