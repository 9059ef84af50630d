// The same tests for the real store and for the fake that other rooms test with, and then the tests
// that only a file can pass: persist, migrate, lock, break.
#include "store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "core/testing/fake_store.h"
#include "store/rows.h"
#include "store/schema.h"

namespace cay::store {
namespace {

namespace fs = std::filesystem;

using cay::testing::TempDir;

Sandbox sandbox(const std::string& id, const std::string& name, const std::string& tenant = "a") {
  Sandbox out;
  out.id = SandboxId(id);
  out.tenant = TenantId(tenant);
  out.name = name;
  return out;
}

bool same(const Sandbox& a, const Sandbox& b) {
  return a.id == b.id && a.tenant == b.tenant && a.name == b.name && a.state == b.state &&
         a.reason == b.reason && a.snapshot_name == b.snapshot_name &&
         a.snapshot_id == b.snapshot_id && a.labels == b.labels && a.limits == b.limits &&
         a.run == b.run && a.policy == b.policy && a.rules == b.rules && a.network == b.network &&
         a.idle_ttl_s == b.idle_ttl_s && a.delete_after_stop_s == b.delete_after_stop_s &&
         a.created_at == b.created_at && a.updated_at == b.updated_at &&
         a.last_active_at == b.last_active_at && a.stopped_at == b.stopped_at &&
         a.lifetime_s == b.lifetime_s && a.commands_keep_awake == b.commands_keep_awake &&
         a.record_programs == b.record_programs && a.profile == b.profile && a.tmpfs == b.tmpfs &&
         a.read_only_paths == b.read_only_paths && a.hidden_paths == b.hidden_paths &&
         a.runtime == b.runtime && a.layer == b.layer && a.marks == b.marks &&
         a.created_by == b.created_by && a.claim == b.claim && a.notes == b.notes;
}

Sandbox full() {
  Sandbox out = sandbox("1", "box");
  out.state = SandboxState::kFailed;
  out.reason = "it's \"gone\"; DROP TABLE sandbox";
  out.snapshot_name = "default";
  out.snapshot_id = SnapshotId("s");
  out.labels = {{"quote\"\\", "line\nend"}, {"Ümlaut", ""}, {"", "empty key"}};
  out.limits = {
      .cpu_millicores = 4'000'000'000, .memory_bytes = 1ull << 62, .disk_bytes = 3, .pids = 4};
  out.run.user = "user";
  out.run.env = {{"BYTES", std::string("\xff\xfe\x00z", 4)}, {"E", ""}};
  out.policy = "rules";
  out.rules = "a.test\n!b.test";
  out.network = {NetworkState::kUnavailable, "no such module"};
  out.idle_ttl_s = 60;
  out.delete_after_stop_s = 120;
  out.created_at = 1'800'000'000'000;
  out.updated_at = 2;
  out.last_active_at = 3;
  out.stopped_at = 0;
  out.lifetime_s = 7;
  out.commands_keep_awake = true;
  out.record_programs = true;
  out.profile = Profile::kNested;
  out.tmpfs = {{"/tmp", 0}, {"/bu\"ild", 1ull << 62}};
  out.read_only_paths = {"/repo", "/quote\""};
  out.hidden_paths = {"/\xff"};
  out.runtime = "other";
  out.layer = LayerId("l");
  out.marks = {.created = 11, .active = 12, .stopped = 13};
  out.created_by = "key";
  out.claim = "thread:1";
  out.notes = {{"facade.mark", "1"}};
  return out;
}

// Either store, behind the port.
class EitherStore : public ::testing::TestWithParam<bool> {
 protected:
  EitherStore() {
    if (GetParam()) {
      auto opened = open_store(dir.path());
      EXPECT_TRUE(opened) << opened.error().message;
      store = *std::move(opened);
    } else {
      store = std::make_unique<core::testing::FakeStore>();
    }
  }
  std::vector<std::string> names(const SandboxQuery& query, const std::string& tenant = "a") {
    std::vector<std::string> out;
    const auto page = store->list(TenantId(tenant), query);
    for (const auto& row : page->items) out.push_back(row.name);
    return out;
  }
  const TempDir dir;
  std::unique_ptr<core::Store> store;
  using Names = std::vector<std::string>;
};

TEST_P(EitherStore, GivesBackWhatItWasGiven) {
  ASSERT_TRUE(store->insert(full()));
  const auto got = store->by_id(TenantId("a"), SandboxId("1"));
  ASSERT_TRUE(got && *got);
  EXPECT_TRUE(same(**got, full()));
  Sandbox next = full();
  next.name = "renamed";
  next.stopped_at.reset();
  next.marks.stopped.reset();
  next.run.user.reset();
  next.labels = {{"other", "1"}};
  ASSERT_TRUE(store->update(next));
  EXPECT_TRUE(same(**store->by_name(TenantId("a"), "renamed"), next));
  EXPECT_FALSE(*store->by_name(TenantId("a"), "box"));
  EXPECT_TRUE(same(store->all()->at(0), next));
}

TEST_P(EitherStore, NamesAreUniqueInATenant) {
  ASSERT_TRUE(store->insert(sandbox("1", "box")));
  EXPECT_EQ(store->insert(sandbox("2", "box")).error().reason, "name_in_use");
  ASSERT_TRUE(store->insert(sandbox("3", "box", "b")));
  ASSERT_TRUE(store->insert(sandbox("4", "other")));
  EXPECT_EQ(store->update(sandbox("4", "box")).error().reason, "name_in_use");
  EXPECT_EQ(store->update(sandbox("9", "new")).error().code, Code::kNotFound);
  EXPECT_EQ(store->all()->size(), 3U);
}

TEST_P(EitherStore, ClaimsAreUniqueInATenant) {
  const auto claiming = [](const std::string& id, const std::string& claim,
                           const std::string& tenant = "a") {
    Sandbox out = sandbox(id, "box" + id, tenant);
    out.claim = claim;
    return out;
  };
  ASSERT_TRUE(store->insert(claiming("1", "thread")));
  EXPECT_EQ(store->insert(claiming("2", "thread")).error().reason, "claim_in_use");
  ASSERT_TRUE(store->insert(claiming("3", "thread", "b")));
  ASSERT_TRUE(store->insert(claiming("4", "")));
  ASSERT_TRUE(store->insert(claiming("5", ""))) << "those without one do not clash";
  EXPECT_EQ(store->update(claiming("4", "thread")).error().reason, "claim_in_use");
  SandboxQuery query;
  query.claim = "thread";
  EXPECT_EQ(names(query), Names{"box1"});
  EXPECT_EQ(names(query, "b"), Names{"box3"});
  query.claim = "thr";
  EXPECT_EQ(names(query), Names{});
  ASSERT_TRUE(store->update(claiming("1", "")));
  ASSERT_TRUE(store->update(claiming("4", "thread"))) << "it is free";
  ASSERT_TRUE(store->erase(SandboxId("4")));
  ASSERT_TRUE(store->insert(claiming("6", "thread")));
}

TEST_P(EitherStore, TenantsSeeTheirOwnOnly) {
  ASSERT_TRUE(store->insert(sandbox("1", "box")));
  EXPECT_FALSE(*store->by_id(TenantId("b"), SandboxId("1")));
  EXPECT_FALSE(*store->by_name(TenantId("b"), "box"));
  EXPECT_EQ(names({}, "b"), Names{});
}

TEST_P(EitherStore, EraseIsIdempotentAndFreesNameAndLabels) {
  Sandbox row = sandbox("1", "box");
  row.labels["k"] = "v";
  ASSERT_TRUE(store->insert(row));
  ASSERT_TRUE(store->erase(row.id));
  ASSERT_TRUE(store->erase(row.id));
  ASSERT_TRUE(store->insert(sandbox("1", "box")));
  SandboxQuery query;
  query.labels = {{"k", std::nullopt}};
  EXPECT_EQ(names(query), Names{});
}

TEST_P(EitherStore, FiltersAreAnded) {
  const auto put = [&](const char* id, const char* name, SandboxState state,
                       std::map<std::string, std::string> labels) {
    Sandbox row = sandbox(id, name);
    row.state = state;
    row.labels = std::move(labels);
    row.created_by = id;
    ASSERT_TRUE(store->insert(row));
  };
  put("1", "Alpha_1", SandboxState::kReady, {{"team", "x"}, {"env", "prod"}});
  put("2", "alphaX2", SandboxState::kStopped, {{"team", "x"}});
  put("3", "beta", SandboxState::kReady, {{"team", "y"}, {"we\"ird", "%"}});
  SandboxQuery query;
  query.sort = SandboxSort::kName;
  query.descending = false;
  query.name_contains = "ALPHA";
  EXPECT_EQ(names(query), (Names{"Alpha_1", "alphaX2"}));
  query.name_contains = "a_";  // not a wildcard
  EXPECT_EQ(names(query), (Names{"Alpha_1"}));
  query.name_contains = "%";
  EXPECT_EQ(names(query), Names{});
  query.name_contains.clear();
  query.labels = {{"team", "x"}};
  EXPECT_EQ(names(query).size(), 2U);
  query.labels = {{"team", "x"}, {"env", std::nullopt}};
  EXPECT_EQ(names(query), (Names{"Alpha_1"}));
  query.labels = {{"we\"ird", "%"}};
  EXPECT_EQ(names(query), (Names{"beta"}));
  query.labels.clear();
  query.state = SandboxState::kStopped;
  EXPECT_EQ(names(query), (Names{"alphaX2"}));
  query.state.reset();
  query.created_by = "3";
  EXPECT_EQ(names(query), (Names{"beta"}));
}

TEST_P(EitherStore, SortsAndPages) {
  for (int i = 0; i < 5; ++i) {
    Sandbox row = sandbox(std::to_string(i), "n" + std::to_string(i));
    row.created_at = 100 - i;
    row.idle_ttl_s = i % 2;
    if (i > 0) row.stopped_at = i;
    ASSERT_TRUE(store->insert(row));
  }
  EXPECT_EQ(names({}), (Names{"n0", "n1", "n2", "n3", "n4"}));  // the newest first
  SandboxQuery query;
  query.sort = SandboxSort::kIdleTtl;
  query.descending = false;
  EXPECT_EQ(names(query), (Names{"n0", "n2", "n4", "n1", "n3"}));  // then by id
  query.sort = SandboxSort::kStoppedAt;
  EXPECT_EQ(names(query), (Names{"n0", "n1", "n2", "n3", "n4"}));  // never stopped: lowest
  query.sort = SandboxSort::kName;
  query.limit = 2;
  query.offset = 2;
  EXPECT_EQ(names(query), (Names{"n2", "n3"}));
  EXPECT_TRUE(store->list(TenantId("a"), query)->more);
  query.offset = 3;
  EXPECT_FALSE(store->list(TenantId("a"), query)->more);
  query.offset = 9;
  EXPECT_EQ(names(query), Names{});
}

TEST_P(EitherStore, MetaIsReplaced) {
  EXPECT_FALSE(*store->get_meta("k"));
  ASSERT_TRUE(store->put_meta("k", "1"));
  ASSERT_TRUE(store->put_meta("k", "2"));
  EXPECT_EQ(**store->get_meta("k"), "2");
}

INSTANTIATE_TEST_SUITE_P(Stores, EitherStore, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Sqlite" : "Fake"; });

TEST(StoreFile, SurvivesAndIsPrivate) {
  const TempDir dir;
  {
    auto store = open_store(dir.path());
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->insert(full()));
  }
  struct stat info{};
  ASSERT_EQ(::stat((dir.path() + "/state.db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  auto again = open_store(dir.path());
  ASSERT_TRUE(again);
  EXPECT_TRUE(same((*again)->all()->at(0), full()));
}

TEST(StoreFile, ASecondDaemonIsRefusedWithASentence) {
  const TempDir dir;
  auto first = open_store(dir.path());
  ASSERT_TRUE(first);
  const auto second = open_store(dir.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "data_dir_locked");
  EXPECT_NE(second.error().message.find("--data"), std::string::npos);
  first->reset();
  EXPECT_TRUE(open_store(dir.path()));
}

TEST(StoreFile, ANewerSchemaIsRefusedAndLeftAlone) {
  const TempDir dir;
  {
    ASSERT_TRUE(open_store(dir.path()));
  }
  {
    auto db = db::Database::open(dir.path() + "/state.db");
    ASSERT_TRUE((*db)->execute("PRAGMA user_version = 99"));
  }
  EXPECT_EQ(open_store(dir.path()).error().reason, "store_too_new");
}

TEST(StoreFile, AnOlderSchemaThanIsKnownIsRefusedAndLeftAlone) {
  const TempDir dir;
  const auto open_at = [&](int version) {
    {
      auto db = db::Database::open(dir.path() + "/state.db");
      EXPECT_TRUE((*db)->execute("PRAGMA user_version = " + std::to_string(version)));
    }
    return open_store(dir.path());
  };
  {
    ASSERT_TRUE(open_store(dir.path()));
  }
  const auto refused = open_at(kOldestSchema - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "store_too_old");
  EXPECT_NE(refused.error().message.find("schema " + std::to_string(kOldestSchema - 1)),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(open_at(schema_version())) << "nothing was changed";
}

TEST(StoreFile, MigratesFromNothingOnceAndInSteps) {
  const TempDir dir;
  auto db = db::Database::open(dir.path() + "/state.db");
  ASSERT_TRUE(db);
  ASSERT_TRUE(migrate(**db));
  ASSERT_TRUE(migrate(**db));
  auto version = (*db)->prepare_once("PRAGMA user_version");
  ASSERT_TRUE(*version->step());
  EXPECT_EQ(version->number(0), schema_version());
}

// The data that a daemon of each older schema left comes through, and can reach no more than
// before.
class EveryOldSchema : public ::testing::TestWithParam<int> {};

TEST_P(EveryOldSchema, IsBroughtForward) {
  const TempDir dir;
  {
    auto db = db::Database::open(dir.path() + "/state.db");
    ASSERT_TRUE(db);
    ASSERT_TRUE(migrate(**db, GetParam()));
    constexpr int kFirstWithoutFacadeData = 18;
    const bool has_facade_data = GetParam() < kFirstWithoutFacadeData;
    ASSERT_TRUE((*db)->execute(std::string(R"sql(
INSERT INTO sandbox (id, tenant, name, state, reason, snapshot_name, snapshot_id, labels,
                     cpu_millicores, memory_bytes, disk_bytes, pids, run_env, policy, idle_ttl_s,
                     delete_after_stop_s, created_at, updated_at, last_active_at, created_by)sql") +
                               (has_facade_data ? ", facade_data" : "") + R"sql()
VALUES ('1', 'a', 'box', 'ready', '', 'default', 's', '{"k":"v"}', 1, 2, 3, 4, '{}', 'open', 5, 6,
        7, 8, 9, 'key')sql" + (has_facade_data ? ", '{}')" : ")")));
  }
  auto store = open_store(dir.path());
  ASSERT_TRUE(store) << store.error().message;
  const auto rows = (*store)->all();
  ASSERT_TRUE(rows && rows->size() == 1);
  const Sandbox& row = rows->front();
  EXPECT_EQ(row.name, "box");
  EXPECT_EQ(row.state, SandboxState::kReady);
  EXPECT_EQ(row.labels.at("k"), "v");
  EXPECT_EQ(row.limits,
            (Limits{.cpu_millicores = 1, .memory_bytes = 2, .disk_bytes = 3, .pids = 4}));
  EXPECT_EQ(row.network, SandboxNetwork{});
  constexpr int kFirstWithAWayOut = 7;
  EXPECT_EQ(row.policy, GetParam() < kFirstWithAWayOut ? "off" : "open");
  EXPECT_EQ(row.profile, Profile::kDefault);
  EXPECT_TRUE(row.tmpfs.empty() && row.read_only_paths.empty() && row.hidden_paths.empty());
  EXPECT_EQ(row.runtime, kNativeRuntime);
  EXPECT_EQ(row.claim, "");
}

INSTANTIATE_TEST_SUITE_P(Schemas, EveryOldSchema, ::testing::Range(1, schema_version() + 1));

// The times of events that an older daemon pruned are not known, so none of them is recorded again.
TEST(StoreFile, WhatAnOlderDaemonPrunedIsNotToldAgain) {
  constexpr int kBeforeNotes = 7;
  const TempDir dir;
  {
    auto db = db::Database::open(dir.path() + "/state.db");
    ASSERT_TRUE(migrate(**db, kBeforeNotes));
    ASSERT_TRUE((*db)->execute(R"sql(
INSERT INTO event_count VALUES ('a', 12, 11), ('b', 1, 0);
INSERT INTO event VALUES ('a', 12, 500, 'sandbox.started', '1', 'box', '{}', '', '', '', '', NULL,
                          NULL),
                         ('b', 1, 500, 'sandbox.started', '2', 'box', '{}', '', '', '', '', NULL,
                          NULL))sql"));
  }
  auto store = open_store(dir.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(*(*store)->knows_command(TenantId("a"), SandboxId("1"), CommandId("c"), 500));
  EXPECT_FALSE(*(*store)->knows_command(TenantId("a"), SandboxId("1"), CommandId("c"), 501));
  EXPECT_FALSE(*(*store)->knows_command(TenantId("b"), SandboxId("2"), CommandId("c"), 500));
}

// The size of an older daemon's events is counted once.
TEST(StoreFile, AnOlderDaemonsHeavyEventsGo) {
  constexpr int kBeforeBytes = 10;
  const TempDir dir;
  {
    auto db = db::Database::open(dir.path() + "/state.db");
    ASSERT_TRUE(migrate(**db, kBeforeBytes));
    ASSERT_TRUE((*db)->execute(R"sql(
INSERT INTO event_count (tenant, last_seq, pruned_through) VALUES ('a', 3, 0), ('b', 0, 0);
INSERT INTO event SELECT 'a', column1, 500, 'sandbox.updated', '1', 'box',
  '{"k":"' || hex(zeroblob(500)) || '"}', '', '', '', '', NULL, NULL
  FROM (VALUES (1), (2), (3)))sql"));
  }
  auto store = open_store(dir.path(), {.keep_events = 3, .keep_event_bytes = 2500});
  ASSERT_TRUE(store) << store.error().message;
  (*store)->note_event(event_about(sandbox("1", "box"), "sandbox.stopped", 600));
  ASSERT_TRUE((*store)->flush_events());
  const auto page = (*store)->events(TenantId("a"), EventQuery{});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->last, 4u);
  EXPECT_EQ(page->gap_end, 1u) << "one of a thousand bytes was enough";
}

TEST(StoreFile, AnInterruptedMigrationLeavesTheOldVersion) {
  const TempDir dir;
  auto db = db::Database::open(dir.path() + "/state.db");
  ASSERT_TRUE((*db)->execute("CREATE TABLE snapshot (x)"));  // the step fails half-way
  EXPECT_FALSE(migrate(**db));
  auto version = (*db)->prepare_once("PRAGMA user_version");
  ASSERT_TRUE(*version->step());
  EXPECT_EQ(version->number(0), 0);
  EXPECT_FALSE((*db)->prepare_once("SELECT * FROM sandbox"));
}

TEST(StoreFile, WhatIsNoDatabaseIsSaid) {
  const TempDir dir;
  std::ofstream(dir.path() + "/state.db") << std::string(4096, 'x');
  const auto store = open_store(dir.path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().reason, "store_failed");
  EXPECT_NE(store.error().message.find("backup"), std::string::npos);
}

TEST(StoreFile, AFailedInsertLeavesNoLabels) {
  const TempDir dir;
  auto store = open_store(dir.path());
  Sandbox row = sandbox("1", "box");
  row.labels["k"] = "v";
  ASSERT_TRUE((*store)->insert(row));
  row.id = SandboxId("2");
  EXPECT_FALSE((*store)->insert(row));
  ASSERT_TRUE((*store)->erase(SandboxId("1")));
  ASSERT_TRUE((*store)->insert(row));  // would clash with labels left behind
}

}  // namespace
}  // namespace cay::store
