#include "keeper/machine_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/unique_fd.h"

namespace cay::keeper {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(MachineFilesTest, MeminfoTellsTheLimitAndWhatIsLeftOfIt) {
  MemoryUse use;
  use.total = 3072 * kMiB;
  use.used = 1024 * kMiB;
  use.file = 512 * kMiB;
  use.inactive_file = 500 * kMiB;
  const std::string text = meminfo_text(use);
  EXPECT_NE(text.find("MemTotal:        3145728 kB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("MemFree:         2097152 kB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("MemAvailable:    2609152 kB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Cached:           524288 kB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SwapTotal:             0 kB\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("Slab"), std::string::npos);  // not counted on v1
}

TEST(MachineFilesTest, MeminfoHasOneLengthWhateverIsUsed) {
  MemoryUse use;
  use.total = std::uint64_t{512} << 30;  // nine digits of KiB
  const std::size_t length = meminfo_text(use).size();
  for (const std::uint64_t used : {std::uint64_t{1}, 100 * kMiB, use.total, use.total * 2}) {
    use.used = used;
    use.file = used / 2;
    EXPECT_EQ(meminfo_text(use).size(), length) << used;
  }
}

TEST(MachineFilesTest, MemoryStatIsReadInBothForms) {
  MemoryUse v1, v2;
  read_memory_stat("cache 1\nrss 2\ntotal_cache 30\ntotal_rss 20\ntotal_inactive_file 7\n", false,
                   v1);
  EXPECT_EQ(v1.file, 30U);
  EXPECT_EQ(v1.anon, 20U);
  EXPECT_EQ(v1.inactive_file, 7U);
  read_memory_stat("anon 20\nfile 30\nkernel 9\nslab_reclaimable 5\n", true, v2);
  EXPECT_EQ(v2.file, 30U);
  EXPECT_EQ(v2.anon, 20U);
  EXPECT_EQ(v2.slab_reclaimable, 5U);
}

TEST(MachineFilesTest, StatHasALineForEachCpuAndTheirSum) {
  CpuUse use;
  use.cpus = {0, 3};
  use.user = 101;
  use.system = 4;
  use.idle = 1000;
  use.booted = 1700000000;
  EXPECT_EQ(stat_text(use),
            "cpu  101 0 4 1000 0 0 0 0 0 0\n"
            "cpu0 51 0 2 500 0 0 0 0 0 0\n"
            "cpu3 50 0 2 500 0 0 0 0 0 0\n"
            "btime 1700000000\n");
}

// A group's directory and the files inside, as plain files.
struct FakeSandbox {
  std::string path;
  UniqueFd group, meminfo, stat;
  Context context;

  FakeSandbox() {
    char name[] = "/tmp/cay-machine-XXXXXX";
    path = ::mkdtemp(name);
    group.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    meminfo.reset(::openat(group.get(), "meminfo", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    stat.reset(::openat(group.get(), "stat", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    context.pure_v2 = true;
    context.cgroup_fd = group.get();
    context.meminfo_fd = meminfo.get();
    context.stat_fd = stat.get();
    context.cpus = {0};
    context.memory_bytes = 64 * kMiB;
    use(0);
  }
  ~FakeSandbox() {
    for (const char* name : {"meminfo", "stat", "memory.current"}) ::unlinkat(group.get(), name, 0);
    ::rmdir(path.c_str());
  }
  void use(std::uint64_t bytes) { std::ofstream(path + "/memory.current") << bytes << "\n"; }
  bool shows_free(std::uint64_t bytes) {
    std::stringstream text;
    text << std::ifstream(path + "/meminfo").rdbuf();
    return text.str().find("MemFree:" + std::string(16 - std::to_string(bytes / 1024).size(), ' ') +
                           std::to_string(bytes / 1024)) != std::string::npos;
  }
};

TEST(MachineFilesTest, TheyAreWrittenWhileSomethingRunsAndLeftAloneAfterwards) {
  FakeSandbox box;
  Loop loop;
  bool active = true;
  int asked = 0;
  MachineFiles files(loop, box.context, [&] { return ++asked, active; }, 1);
  EXPECT_TRUE(box.shows_free(64 * kMiB));  // before anything ran
  box.use(8 * kMiB);
  files.wake();
  EXPECT_TRUE(box.shows_free(56 * kMiB));
  box.use(16 * kMiB);
  const Timer first = loop.after(20, [&] {
    EXPECT_TRUE(box.shows_free(48 * kMiB));
    EXPECT_GT(asked, 1);
    active = false;
  });
  const Timer second = loop.after(60, [&] {
    asked = 0;
    box.use(32 * kMiB);
  });
  const Timer third = loop.after(100, [&] {
    EXPECT_EQ(asked, 0);
    EXPECT_TRUE(box.shows_free(48 * kMiB));
    loop.stop();
  });
  loop.run();
}

}  // namespace
}  // namespace cay::keeper
