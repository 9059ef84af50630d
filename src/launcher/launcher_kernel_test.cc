// The launcher against this machine's kernel: what it makes, what the guest sees, what is left.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "launcher/testing/launcher_test.h"
#include "os/process.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;

TEST_F(LauncherTest, CreateRunStopStartDestroy) {
  RunningLauncher launcher;
  ASSERT_TRUE(launcher.is_ready);
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(1);
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
  EXPECT_EQ(wire::decode<wire::Created>(created->payload)->disk_enforced_by, "btrfs qgroup");
  const std::string facts = launcher.run(id, {"facts"});
  ASSERT_NE(facts.find("exit 0"), std::string::npos) << facts;
  EXPECT_NE(facts.find("hostname=box\n"), std::string::npos) << facts;
  EXPECT_NE(facts.find("etc_hostname=box\n"), std::string::npos);
  EXPECT_NE(facts.find("null=1:3\n"), std::string::npos);
  EXPECT_NE(facts.find("tty=5:0\n"), std::string::npos);
  EXPECT_NE(facts.find("keys=\n"), std::string::npos) << "masked" << facts;
  EXPECT_NE(facts.find("firmware=\n"), std::string::npos) << "masked";
  EXPECT_NE(facts.find("pid1_cmdline=cay-init\n"), std::string::npos)
      << "tells nothing of the host";
  EXPECT_NE(facts.find("write_sysctl=Read-only file system\n"), std::string::npos);
  EXPECT_NE(facts.find(" /sys /sys ro,"), std::string::npos) << facts;
  for (const char* works :
       {"write_root=ok\n", "write_tmp=ok\n", "ptmx=ok\n", "read_null=ok\n", "loopback=ok\n"}) {
    EXPECT_NE(facts.find(works), std::string::npos) << works << facts;
  }
  EXPECT_EQ(facts.find(launcher.data), std::string::npos)
      << "a path of the host is seen inside: " << facts;

  // Stopped: nothing runs, the disk stays.
  ASSERT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{id})), Type::kOk);
  auto traces = launcher.traces();
  EXPECT_TRUE(traces["process"].empty());
  EXPECT_TRUE(traces["cgroup"].empty());
  EXPECT_TRUE(traces["socket"].empty());
  EXPECT_EQ(traces["disk"].size(), 1U);
  EXPECT_EQ(traces["spool"].size(), 1U);
  EXPECT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{id})), Type::kOk) << "idempotent";

  created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
  EXPECT_NE(launcher.run(id, {"facts"}).find("made-inside"), std::string::npos)
      << "the disk was kept";
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  EXPECT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk) << "idempotent";
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ItsHelloListsWhatItCanDo) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(client->theirs.role, "launcher");
  EXPECT_EQ(client->theirs.features,
            (std::vector<std::string>{"programs", "policy", "profile", "nested-networks", "tmpfs",
                                      "layers", "forks", "mounts", "path-rules"}));
  EXPECT_TRUE(client->theirs.has("tmpfs"));
  EXPECT_FALSE(client->theirs.has("tmp"));
}

TEST_F(LauncherTest, FiftySandboxesLeaveNothing) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::size_t mounts = launcher.mounts();
  std::vector<double> creates, destroys;
  for (unsigned i = 0; i < 50; ++i) {
    const std::string id = test_uuid(100 + i);
    auto begin = std::chrono::steady_clock::now();
    auto created = client->ask(Type::kCreate, request_for(id));
    ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
    creates.push_back(millis_since(begin));
    begin = std::chrono::steady_clock::now();
    ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
    destroys.push_back(millis_since(begin));
  }
  std::sort(creates.begin(), creates.end());
  std::sort(destroys.begin(), destroys.end());
  std::printf("create p50 %.2f ms, max %.2f ms; destroy p50 %.2f ms, max %.2f ms\n", creates[25],
              creates[49], destroys[25], destroys[49]);
  expect_nothing_left(launcher);
  EXPECT_EQ(launcher.mounts(), mounts);
}

TEST_F(LauncherTest, ManyAtOnce) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  constexpr unsigned kCount = 40;
  for (unsigned i = 1; i <= kCount; ++i)
    ASSERT_TRUE(client->send(Type::kCreate, i, request_for(test_uuid(200 + i))));
  for (unsigned i = 0; i < kCount; ++i) {
    auto frame = client->next();
    ASSERT_EQ(type_of(frame), Type::kCreated) << error_of(frame);
  }
  EXPECT_EQ(RunningLauncher::list(*client).size(), kCount);
  for (unsigned i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(client->send(Type::kDestroy, 1000 + i, wire::SandboxRef{test_uuid(200 + i)}));
  }
  for (unsigned i = 0; i < kCount; ++i) ASSERT_EQ(type_of(client->next()), Type::kOk);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, AKilledWorkerFindsItsSandboxesAgain) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(4);
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated);
  const auto keeper = wire::decode<wire::Created>(created->payload)->keeper_pid;
  ASSERT_GT(launcher.worker(), 0);
  ASSERT_EQ(::kill(launcher.worker(), SIGKILL), 0);
  EXPECT_FALSE(client->next()) << "the connection ended with it";
  client = launcher.connect();  // waits in the backlog for the next worker
  ASSERT_TRUE(client);
  auto entries = RunningLauncher::list(*client);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_TRUE(entries[0].alive);
  EXPECT_EQ(entries[0].keeper_pid, keeper);
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos) << "it noticed nothing";
  // The new worker watches a keeper that is not its child.
  ASSERT_EQ(::kill(static_cast<pid_t>(keeper), SIGKILL), 0);
  auto died = client->next();
  ASSERT_EQ(type_of(died), Type::kDied);
  EXPECT_EQ(wire::decode<wire::SandboxEntry>(died->payload)->sandbox_id, id);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, AWorkerThatHangsIsReplaced) {
  Config quick;
  quick.beat = std::chrono::milliseconds(500);
  RunningLauncher launcher(quick);
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(7);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  const pid_t hung = launcher.worker();
  ASSERT_GT(hung, 0);
  ASSERT_EQ(::kill(hung, SIGSTOP), 0);
  EXPECT_FALSE(client->next()) << "the connection ended with it";
  client = launcher.connect();
  ASSERT_TRUE(client);
  ASSERT_EQ(RunningLauncher::list(*client).size(), 1U);
  EXPECT_TRUE(RunningLauncher::list(*client)[0].alive);
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos) << "it noticed nothing";
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ALauncherThatEndedFindsItsSandboxesAgain) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(5);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  EXPECT_EQ(launcher.end(), 0);
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos) << "sandboxes live on";
  launcher.start();
  ASSERT_TRUE(launcher.is_ready);
  client = launcher.connect();
  ASSERT_TRUE(client);
  ASSERT_EQ(RunningLauncher::list(*client).size(), 1U);
  EXPECT_TRUE(RunningLauncher::list(*client)[0].alive);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
}

// More kept commands than are removed in a moment, of a sandbox that is stopped.
void keep_many_commands(const RunningLauncher& launcher, const std::string& id) {
  const auto spool = os::open_dir(AT_FDCWD, launcher.data + "/spool/" + id);
  ASSERT_TRUE(spool);
  for (unsigned i = 0; i < 1'000; ++i) {
    const std::string command = "c" + std::to_string(i);
    ASSERT_EQ(::mkdirat(spool->get(), command.c_str(), 0700), 0);
    ASSERT_TRUE(UniqueFd(::openat(spool->get(), (command + "/record").c_str(),
                                  O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  }
}

// Returns the worker's child that removes files.
pid_t remover_of(pid_t worker) {
  const std::string of = std::to_string(worker);
  std::ifstream in("/proc/" + of + "/task/" + of + "/children");
  pid_t pid = 0;
  return in >> pid ? pid : 0;
}

void wait_until_gone(const RunningLauncher& launcher, const char* kind) {
  const auto begin = std::chrono::steady_clock::now();
  while (launcher.traces().contains(kind) && millis_since(begin) < 60'000) ::usleep(10'000);
}

Config impatient() {
  Config quick;
  quick.patience = std::chrono::milliseconds(20);
  return quick;
}

TEST_F(LauncherTest, ARemovalThatTakesLongIsSaidAndGoesOnByItself) {
  RunningLauncher launcher(impatient());
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(8);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  while (type_of(client->ask(Type::kStop, wire::SandboxRef{id})) != Type::kOk) {
  }
  ASSERT_NO_FATAL_FAILURE(keep_many_commands(launcher, id));
  const auto told = client->ask(Type::kDestroy, wire::SandboxRef{id});
  EXPECT_TRUE(error_of(told).starts_with("removal_takes_long")) << error_of(told);
  EXPECT_TRUE(RunningLauncher::list(*client).empty()) << "nobody sees a half of one";
  wait_until_gone(launcher, "record");
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ARemovalEndsWithItsLauncherAndTheNextOneTakesItUp) {
  RunningLauncher launcher(impatient());
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(9);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  while (type_of(client->ask(Type::kStop, wire::SandboxRef{id})) != Type::kOk) {
  }
  ASSERT_NO_FATAL_FAILURE(keep_many_commands(launcher, id));
  const auto told = client->ask(Type::kDestroy, wire::SandboxRef{id});
  ASSERT_TRUE(error_of(told).starts_with("removal_takes_long")) << error_of(told);
  const pid_t pid = remover_of(launcher.worker());
  ASSERT_GT(pid, 0) << "control: it is at work";
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);  // as on a disk that is very slow
  const auto remover = os::open_process(pid, os::start_time_of(pid));
  ASSERT_TRUE(remover);
  EXPECT_EQ(launcher.end(), 0);
  pollfd ended{remover->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1) << "it is still there, and keeps the pool mounted";
  EXPECT_EQ(launcher.traces()["spool"].size(), 1U) << "control: it was not done";
  launcher.start();
  ASSERT_TRUE(launcher.is_ready);
  client = launcher.connect();
  ASSERT_TRUE(client);
  EXPECT_TRUE(RunningLauncher::list(*client).empty())
      << "half of a sandbox is none, and no stopped one";
  wait_until_gone(launcher, "record");
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ARemoverThatIsKilledIsReplaced) {
  RunningLauncher launcher(impatient());
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(10);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  while (type_of(client->ask(Type::kStop, wire::SandboxRef{id})) != Type::kOk) {
  }
  ASSERT_NO_FATAL_FAILURE(keep_many_commands(launcher, id));
  const auto told = client->ask(Type::kDestroy, wire::SandboxRef{id});
  ASSERT_TRUE(error_of(told).starts_with("removal_takes_long")) << error_of(told);
  const pid_t pid = remover_of(launcher.worker());
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait_until_gone(launcher, "record");
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, AKilledKeeperEndsItsSandbox) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(6);
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated);
  ASSERT_EQ(::kill(static_cast<pid_t>(wire::decode<wire::Created>(created->payload)->keeper_pid),
                   SIGKILL),
            0);
  auto died = client->next();
  ASSERT_EQ(type_of(died), Type::kDied);
  const auto entry = wire::decode<wire::SandboxEntry>(died->payload);
  EXPECT_EQ(entry->reason, "keeper killed by signal 9");
  EXPECT_TRUE(entry->has_disk);
  ASSERT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{id})), Type::kOk);
  EXPECT_TRUE(launcher.traces()["process"].empty());
  created = client->ask(Type::kCreate, request_for(id));
  EXPECT_EQ(type_of(created), Type::kCreated) << "it can be started again: " << error_of(created);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, OneLauncherForADataDirectory) {
  RunningLauncher launcher;
  ASSERT_TRUE(launcher.is_ready);
  const pid_t first = launcher.guardian;
  launcher.start();
  EXPECT_FALSE(launcher.is_ready);
  int status = 0;
  ::waitpid(launcher.guardian, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 125);
  launcher.guardian = first;
  EXPECT_TRUE(launcher.connect()) << "the first one goes on";
}

TEST_F(LauncherTest, BadRequestsMakeNothing) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  std::vector<wire::CreateSandbox> bad(8, request_for(test_uuid(7)));
  bad[0].sandbox_id = "../../etc";
  bad[1].hostname = "a b";
  bad[2].hostname = "";
  bad[3].memory_bytes = 0;
  bad[4].pids = 0;
  bad[5].cpu_millicores = 0;
  bad[6].disk_bytes = ~std::uint64_t{0};
  bad[7].snapshot_id = test_uuid(8);  // well-formed, not in the store
  for (const auto& request : bad)
    EXPECT_EQ(type_of(client->ask(Type::kCreate, request)), Type::kError);
  EXPECT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{"../x"})), Type::kError);
  EXPECT_EQ(type_of(client->ask(static_cast<Type>(999), wire::Empty{})), Type::kError);
  expect_nothing_left(launcher);
  Client rude(launcher.data + "/run/launcher.sock");
  ASSERT_TRUE(rude.send_raw(std::string(64, '\xff')));
  EXPECT_TRUE(rude.next()) << "our HELLO";
  EXPECT_FALSE(rude.next()) << "then the end";
  EXPECT_EQ(RunningLauncher::list(*client).size(), 0U) << "others are served";
}

TEST_F(LauncherTest, ARepeatedCreateFindsTheSandbox) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(20);
  auto first = client->ask(Type::kCreate, request_for(id));
  auto second = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(first), Type::kCreated);
  ASSERT_EQ(type_of(second), Type::kCreated);
  EXPECT_EQ(first->payload, second->payload);
}

TEST_F(LauncherTest, DestroyedWhileItIsBeingMade) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const std::string id = test_uuid(400 + i);
    ASSERT_TRUE(client->send(Type::kCreate, 2 * i + 1, request_for(id)));
    ASSERT_TRUE(
        client->send(i % 2 == 0 ? Type::kDestroy : Type::kStop, 2 * i + 2, wire::SandboxRef{id}));
    std::vector<Type> answers = {type_of(client->next()), type_of(client->next())};
    EXPECT_EQ(std::count(answers.begin(), answers.end(), Type::kOk), 1) << "the end is confirmed";
  }
  EXPECT_EQ(RunningLauncher::list(*client).size(), 0U);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, WhatTheGuestLeftOnItsDiskIsNotFollowed) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(21);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  ASSERT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{id})), Type::kOk);
  // Symbolic links where the next boot mounts and writes; a file for a directory.
  const std::string victim = launcher.data + "/victim";
  ASSERT_EQ(::mkdir(victim.c_str(), 0777), 0);
  const std::string upper = "/proc/" + std::to_string(launcher.guardian) + "/root" + launcher.data +
                            "/store/" + id + "/upper/";
  for (const char* name : {"proc", "dev", "tmp", "etc"}) {
    (void)os::remove_tree(AT_FDCWD, upper + name);
    ASSERT_EQ(::symlink(victim.c_str(), (upper + name).c_str()), 0) << name;
  }
  std::ofstream(upper + "run") << "a file";
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
  const std::string facts = launcher.run(id, {"facts"});
  EXPECT_NE(facts.find("ptmx=ok\n"), std::string::npos) << facts;
  EXPECT_NE(facts.find("write_tmp=ok\n"), std::string::npos);
  EXPECT_EQ(os::list_dir(os::open_dir(AT_FDCWD, victim)->get())->size(), 0U)
      << "the host was written to";
}

TEST_F(LauncherTest, AHalfMadeSandboxIsRemovedAtTheNextStart) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string half = test_uuid(22), stray = test_uuid(23);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(half))), Type::kCreated);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(stray))), Type::kCreated);
  // As a crash before the confirmation leaves it, and as one that lost even the directory would.
  ASSERT_EQ(::unlink((launcher.data + "/sandboxes/" + half + "/record").c_str()), 0);
  ASSERT_TRUE(os::remove_tree(AT_FDCWD, launcher.data + "/sandboxes/" + stray));
  ASSERT_EQ(::kill(launcher.worker(), SIGKILL), 0);
  client = launcher.connect();
  ASSERT_TRUE(client);
  // An end of the same id waits for the one that goes on.
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{half})), Type::kOk);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{stray})), Type::kOk);
  EXPECT_EQ(RunningLauncher::list(*client).size(), 0U);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ALostRecordDoesNotTakeTheDiskWithIt) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::vector<std::pair<std::string, std::string>> broken = {
      {test_uuid(26), ""}, {test_uuid(27), "\xff\xff nonsense"}};
  for (const auto& [id, bytes] : broken) {
    ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
    EXPECT_NE(launcher.run(id, {"fill", "/kept", "1"}).find("filled=ok"), std::string::npos);
    ASSERT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{id})), Type::kOk);
    // As a host leaves it that lost power.
    std::ofstream(launcher.data + "/sandboxes/" + id + "/record", std::ios::trunc) << bytes;
  }
  ASSERT_EQ(::kill(launcher.worker(), SIGKILL), 0);
  client = launcher.connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(RunningLauncher::list(*client).size(), broken.size());
  for (const auto& [id, bytes] : broken) {
    auto created = client->ask(Type::kCreate, request_for(id));
    ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
    struct stat info{};
    const std::string kept = "/proc/" + std::to_string(launcher.guardian) + "/root" +
                             launcher.data + "/store/" + id + "/upper/kept";
    EXPECT_EQ(::stat(kept.c_str(), &info), 0) << "the disk was thrown away";
    ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  }
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ASnapshotIsRemovedOnceNoSandboxUsesIt) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  wire::SnapshotMsg snapshot;
  snapshot.id = kSnapshot;
  const auto refused = [&] { return error_of(client->ask(Type::kRemoveSnapshot, snapshot)); };
  const std::string id = test_uuid(28);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  EXPECT_NE(refused().find("snapshot_in_use"), std::string::npos) << "while it runs";
  ASSERT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{id})), Type::kOk);
  EXPECT_NE(refused().find("snapshot_in_use"), std::string::npos) << "while its disk is kept";
  std::ofstream(launcher.data + "/sandboxes/" + id + "/record", std::ios::trunc) << "\xff nonsense";
  ASSERT_EQ(::kill(launcher.worker(), SIGKILL), 0);
  client = launcher.connect();
  ASSERT_TRUE(client);
  EXPECT_NE(refused().find("snapshot_in_use"), std::string::npos) << "while its base is unknown";
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated) << "it is there";
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  const auto removed = client->ask(Type::kRemoveSnapshot, snapshot);
  EXPECT_EQ(type_of(removed), Type::kOk) << error_of(removed);
  const auto layers = os::open_dir(AT_FDCWD, launcher.data + "/layers");
  ASSERT_TRUE(layers);
  EXPECT_TRUE(os::list_dir(layers->get())->empty());
  EXPECT_NE(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  expect_nothing_left(launcher);
}

// A directory in every hierarchy, as a service manager delegates one.
struct DelegatedCgroup {
  explicit DelegatedCgroup(std::string name) : path("/" + std::move(name)) {
    for (const std::string& root : RunningLauncher::cgroup_roots())
      ::mkdir((root + path).c_str(), 0755);
  }
  ~DelegatedCgroup() {
    for (const std::string& root : RunningLauncher::cgroup_roots()) ::rmdir((root + path).c_str());
  }
  std::string path;
};

TEST_F(LauncherTest, SandboxesLieBelowTheDelegatedCgroup) {
  const DelegatedCgroup parent("cay-test-parent-" + std::to_string(::getpid()));
  Config config;
  config.cgroup_parent = parent.path;
  RunningLauncher launcher(config);
  ASSERT_TRUE(launcher.is_ready);
  auto client = launcher.connect();
  const std::string id = test_uuid(1);
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
  const auto keeper = wire::decode<wire::Created>(created->payload)->keeper_pid;
  std::ifstream in("/proc/" + std::to_string(keeper) + "/cgroup");
  const std::string groups((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(groups.find(":" + parent.path + "/cay-" + launcher.instance + "/" + id + "/keeper\n"),
            std::string::npos)
      << groups;
  EXPECT_FALSE(launcher.traces()["cgroup"].empty()) << "positive control";
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, WhatWasMadeAtTheRootIsTakenOver) {
  const DelegatedCgroup parent("cay-test-parent-" + std::to_string(::getpid()));
  RunningLauncher launcher;
  const std::string id = test_uuid(1);
  ASSERT_EQ(type_of(launcher.connect()->ask(Type::kCreate, request_for(id))), Type::kCreated);
  ASSERT_FALSE(launcher.traces()["cgroup"].empty());
  launcher.end();
  launcher.set_cgroup_parent(parent.path);
  launcher.start();
  auto client = launcher.connect();
  ASSERT_EQ(RunningLauncher::list(*client).size(), 1U);
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
  launcher.set_cgroup_parent("");
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, AnAbsentParentIsNamed) {
  Config config;
  config.cgroup_parent = "/cay-test-absent";
  RunningLauncher launcher(config);
  EXPECT_FALSE(launcher.is_ready);
}

TEST_F(LauncherTest, DeathsWhileNoLauncherLookedAreTold) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(24);
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated);
  launcher.end();
  ASSERT_EQ(::kill(static_cast<pid_t>(wire::decode<wire::Created>(created->payload)->keeper_pid),
                   SIGKILL),
            0);
  launcher.start();
  client = launcher.connect();
  ASSERT_TRUE(client);
  auto died = client->next();
  ASSERT_EQ(type_of(died), Type::kDied);
  EXPECT_EQ(wire::decode<wire::SandboxEntry>(died->payload)->sandbox_id, id);
  auto entries = RunningLauncher::list(*client);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_FALSE(entries[0].alive);
  EXPECT_TRUE(entries[0].has_disk);
}

TEST_F(LauncherTest, PlainDisksWorkAndSayThatNothingLimitsThem) {
  Config config;
  config.plain_disks = true;
  RunningLauncher launcher(config);
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(9);
  auto created = client->ask(Type::kCreate, request_for(id));
  ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
  EXPECT_EQ(wire::decode<wire::Created>(created->payload)->disk_enforced_by, "");
  EXPECT_NE(launcher.run(id, {"facts"}).find("write_root=ok"), std::string::npos);
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ProbeTellsWhatTheHostHas) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  auto frame = client->ask(Type::kProbe, wire::Empty{});
  std::size_t features = 0;
  while (type_of(frame) == Type::kFeature) {
    const auto feature = wire::decode<wire::FeatureMsg>(frame->payload);
    std::printf("%-26s %-4s %s %s %s\n", feature->name.c_str(), feature->ok ? "ok" : "no",
                feature->found.c_str(), feature->fallback.c_str(), feature->remedy.c_str());
    ++features;
    frame = client->answer(client->last_channel());
  }
  EXPECT_EQ(type_of(frame), Type::kEof);
  EXPECT_GT(features, 10U);
}

}  // namespace
}  // namespace cay::launcher::testing
