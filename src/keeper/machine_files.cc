#include "keeper/machine_files.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "keeper/slots.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kCurrentSize = 21;        // 64 bits in digits, and a line's end
constexpr std::uint64_t kUsecPerTick = 10'000;  // USER_HZ is 100 on every machine that Cay runs on

// No text is shorter than the former one, so nothing of that is left behind it.
void put(int fd, const std::string& text) {
  [[maybe_unused]] const ssize_t done = ::pwrite(fd, text.data(), text.size(), 0);
}

}  // namespace

std::string meminfo_text(const MemoryUse& use) {
  const auto kib = [](std::uint64_t bytes) { return bytes / 1024; };
  const std::size_t width = std::max<std::size_t>(8, std::to_string(kib(use.total)).size());
  std::string out;
  const auto line = [&](const char* name, std::uint64_t bytes) {
    const std::string number = std::to_string(kib(std::min(bytes, use.total)));
    std::string head = std::string(name) + ":";
    head.resize(std::max<std::size_t>(16, head.size()), ' ');
    out += head + std::string(width - number.size(), ' ') + number + " kB\n";
  };
  const std::uint64_t free = use.total - std::min(use.used, use.total);
  line("MemTotal", use.total);
  line("MemFree", free);
  line("MemAvailable", free + use.active_file + use.inactive_file + use.slab_reclaimable);
  line("Buffers", 0);
  line("Cached", use.file);
  line("SwapCached", 0);
  line("Active", use.active_anon + use.active_file);
  line("Inactive", use.inactive_anon + use.inactive_file);
  line("Active(anon)", use.active_anon);
  line("Inactive(anon)", use.inactive_anon);
  line("Active(file)", use.active_file);
  line("Inactive(file)", use.inactive_file);
  line("Unevictable", use.unevictable);
  line("SwapTotal", 0);
  line("SwapFree", 0);
  line("Dirty", use.dirty);
  line("Writeback", use.writeback);
  line("AnonPages", use.anon);
  line("Mapped", use.mapped);
  line("Shmem", use.shmem);
  if (!use.counts_slab) return out;
  line("KReclaimable", use.slab_reclaimable);
  line("Slab", use.slab_reclaimable + use.slab_unreclaimable);
  line("SReclaimable", use.slab_reclaimable);
  line("SUnreclaim", use.slab_unreclaimable);
  line("KernelStack", use.kernel_stack);
  line("PageTables", use.page_tables);
  return out;
}

void read_memory_stat(std::string_view text, bool v2, MemoryUse& use) {
  using Field = std::uint64_t MemoryUse::*;
  struct Key {
    const char *v2, *v1;
    Field field;
  };
  static constexpr Key kKeys[] = {
      {"anon", "total_rss", &MemoryUse::anon},
      {"file", "total_cache", &MemoryUse::file},
      {"shmem", "total_shmem", &MemoryUse::shmem},
      {"file_mapped", "total_mapped_file", &MemoryUse::mapped},
      {"file_dirty", "total_dirty", &MemoryUse::dirty},
      {"file_writeback", "total_writeback", &MemoryUse::writeback},
      {"unevictable", "total_unevictable", &MemoryUse::unevictable},
      {"active_anon", "total_active_anon", &MemoryUse::active_anon},
      {"inactive_anon", "total_inactive_anon", &MemoryUse::inactive_anon},
      {"active_file", "total_active_file", &MemoryUse::active_file},
      {"inactive_file", "total_inactive_file", &MemoryUse::inactive_file},
      {"slab_reclaimable", nullptr, &MemoryUse::slab_reclaimable},
      {"slab_unreclaimable", nullptr, &MemoryUse::slab_unreclaimable},
      {"kernel_stack", nullptr, &MemoryUse::kernel_stack},
      {"pagetables", nullptr, &MemoryUse::page_tables},
  };
  for (const Key& key : kKeys) {
    const char* name = v2 ? key.v2 : key.v1;
    if (name != nullptr) use.*key.field = counter_in(text, name);
  }
}

std::string stat_text(const CpuUse& use) {
  std::string out;
  const auto line = [&](const std::string& name, std::uint64_t user, std::uint64_t system,
                        std::uint64_t idle) {
    out += name + " " + std::to_string(user) + " 0 " + std::to_string(system) + " " +
           std::to_string(idle) + " 0 0 0 0 0 0\n";
  };
  // As many of a sum as fall to one CPU; the first ones take the rest.
  const std::size_t count = use.cpus.size();
  const auto part = [&](std::uint64_t sum, std::size_t i) {
    return sum / count + (i < sum % count ? 1 : 0);
  };
  line("cpu ", use.user, use.system, use.idle);
  for (std::size_t i = 0; i < count; ++i) {
    line("cpu" + std::to_string(use.cpus[i]), part(use.user, i), part(use.system, i),
         part(use.idle, i));
  }
  out += "btime " + std::to_string(use.booted) + "\n";
  return out;
}

MachineFiles::MachineFiles(Loop& loop, const Context& context, std::function<bool()> active,
                           std::int64_t every_ms)
    : loop_(loop),
      context_(context),
      active_(std::move(active)),
      every_ms_(every_ms),
      total_(context.memory_bytes),
      born_(boottime_ms()) {
  if (context_.meminfo_fd < 0) return;
  struct sysinfo host{};
  if (::sysinfo(&host) == 0) {
    total_ = std::min(total_, std::uint64_t{host.totalram} * host.mem_unit);
  }
  write({}, {});  // nothing has run yet
}

void MachineFiles::wake() {
  if (awake_ || context_.meminfo_fd < 0) return;
  awake_ = true;
  refresh();
  timer_ = loop_.after(every_ms_, [this] { tick(); });
}

void MachineFiles::tick() {
  refresh();
  awake_ = active_();
  if (awake_) timer_ = loop_.after(every_ms_, [this] { tick(); });
}

void MachineFiles::refresh() { write(memory_use(), cpu_use()); }

MemoryUse MachineFiles::memory_use() const {
  const bool v2 = context_.pure_v2;
  const int group = v2 ? context_.cgroup_fd : context_.memory_fd;
  MemoryUse use;
  use.used = read_counter(group, v2 ? "memory.current" : "memory.usage_in_bytes");
  read_memory_stat(read_group_file(group, "memory.stat"), v2, use);
  return use;
}

CpuUse MachineFiles::cpu_use() const {
  // A group has this file on hosts with v1 controllers, too.
  const std::string text = read_group_file(context_.cgroup_fd, "cpu.stat");
  CpuUse use;
  use.user = counter_in(text, "user_usec") / kUsecPerTick;
  use.system = counter_in(text, "system_usec") / kUsecPerTick;
  return use;
}

void MachineFiles::write(MemoryUse memory, CpuUse cpu) {
  memory.total = total_;
  memory.counts_slab = context_.pure_v2;  // from the first time on: the text keeps its length
  put(context_.meminfo_fd, meminfo_text(memory));
  if (context_.memory_current_fd >= 0) {
    std::string current = std::to_string(memory.used) + "\n";
    current.resize(kCurrentSize, '\n');
    put(context_.memory_current_fd, current);
  }
  const std::int64_t now = boottime_ms();
  cpu.cpus = context_.cpus;
  const auto given = static_cast<std::uint64_t>(now - born_) / 10 * cpu.cpus.size();
  idle_ = std::max(idle_, given - std::min(given, cpu.user + cpu.system));
  cpu.idle = idle_;
  cpu.booted = (wall_ms() - (context_.own_clocks ? now - born_ : now)) / 1000;
  put(context_.stat_fd, stat_text(cpu));
}

}  // namespace cay::keeper
