#include "core/image_registries.h"

#include "core/core_fixture.h"

namespace cay::core {
namespace {

class ImageRegistriesTest : public CoreTest {
 protected:
  ImageRegistriesTest() { EXPECT_TRUE(open()); }
  Result<ImageRegistry> create(NewImageRegistry made) {
    return run(core->image_registries().create(alice, std::move(made)));
  }
  Result<ImageRegistry> update(ImageRegistryChange change) {
    return run(core->image_registries().update(alice, "mine", std::move(change)));
  }
  // Returns the request that the image process got.
  PullRequest pull(const std::string& reference, const std::string& by) {
    ImageSource source;
    source.reference = reference;
    source.registry = by;
    auto begun = run(core->snapshots().create_from_image(alice, {.name = "x"}, source));
    EXPECT_TRUE(begun) << begun.error().message;
    if (begun) EXPECT_TRUE(run(core->snapshots().wait(alice, begun->id, std::chrono::seconds(5))));
    return images.pulls.empty() ? PullRequest{} : images.pulls.back();
  }
  std::string refusal(const std::string& reference, const std::string& by) {
    ImageSource source;
    source.reference = reference;
    source.registry = by;
    auto begun = run(core->snapshots().create_from_image(alice, {.name = "x"}, source));
    return begun ? "" : begun.error().reason;
  }
};

TEST_F(ImageRegistriesTest, OneIsMadeFoundChangedAndRemoved) {
  const auto made = create({"mine", "https://r.test:5000/v2/", "me", "pw"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->created_by, alice.key_name);
  EXPECT_EQ(create({"mine", "r.test", "", ""}).error().reason, "registry_exists");
  auto& verbs = core->image_registries();
  EXPECT_EQ(run(verbs.get(alice, made->id.get()))->name, "mine");
  EXPECT_EQ(run(verbs.get(bob, "mine")).error().reason, "registry_not_found");
  EXPECT_TRUE(run(verbs.list(bob))->empty());
  const auto changed = update({.name = "yours", .username = "you"});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->username, "you");
  EXPECT_EQ(changed->url, "https://r.test:5000/v2/");
  EXPECT_EQ(store.registry_rows.at(made->id).password, "pw");
  EXPECT_EQ(run(verbs.list(alice))->size(), 1U);
  EXPECT_EQ(run(verbs.remove(bob, "yours")).error().reason, "registry_not_found");
  ASSERT_TRUE(run(verbs.remove(alice, "yours")));
  EXPECT_EQ(run(verbs.remove(alice, "yours")).error().reason, "registry_not_found");
}

TEST_F(ImageRegistriesTest, WhatCannotBeOneIsRefused) {
  for (const char* name : {"", "a/b", ".x", "0f8fad5b-d9cb-469f-a165-70867728950e"})
    EXPECT_EQ(create({name, "r.test", "", ""}).error().reason, "invalid_name") << name;
  for (const char* url : {"", "https://", "ftp://r.test", "r.test:", "nodots", "r.test:5000 x"})
    EXPECT_EQ(create({"x", url, "", ""}).error().reason, "invalid_registry_url") << url;
  EXPECT_EQ(create({"x", "r.test", "a:b", ""}).error().reason, "invalid_registry_login");
  EXPECT_EQ(create({"x", "r.test", "a", std::string(70'000, 'x')}).error().reason,
            "invalid_registry_login");
}

TEST_F(ImageRegistriesTest, APullUsesItsLoginForItsHostAlone) {
  images.images["r.test:5000/team/x:1"] = images.image_of({{"bin/sh", "shell"}});
  images.images["x:1"] = images.images["r.test:5000/team/x:1"];
  const auto made = create({"mine", "https://r.test:5000/v2/", "me", "pw"});
  ASSERT_TRUE(made);
  const RegistryLogin login{"me", "pw", ""};
  EXPECT_EQ(pull("r.test:5000/team/x:1", "mine").login, login);
  const auto completed = pull("team/x:1", made->id.get());
  EXPECT_EQ(completed.reference, "r.test:5000/team/x:1");
  EXPECT_EQ(completed.login, login);
  EXPECT_EQ(pull("x:1", "").login, RegistryLogin{});
  EXPECT_EQ(refusal("other.test/team/x:1", "mine"), "registry_mismatch");
  EXPECT_EQ(refusal("docker.io/team/x:1", "mine"), "registry_mismatch");
  EXPECT_EQ(refusal("team/x:1", "none"), "registry_not_found");
  ASSERT_TRUE(create({"hub", "https://index.docker.io/v1/", "hubber", "hub-pw"}));
  EXPECT_EQ(pull("x:1", "hub").login.username, "hubber");
}

TEST_F(ImageRegistriesTest, ALoginIsFoundByTheHostThatReferencesName) {
  ASSERT_TRUE(create({"mine", "http://R.test:5000/v2/", "me", "pw"}));
  const auto& verbs = dynamic_cast<ImageRegistryVerbs&>(core->image_registries());
  const auto found = verbs.login_at(alice.tenant, "r.test:5000");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, (RegistryLogin{"me", "pw", ""}));
  EXPECT_FALSE(verbs.login_at(alice.tenant, "r.test")->has_value());
  EXPECT_FALSE(verbs.login_at(bob.tenant, "r.test:5000")->has_value());
}

TEST_F(ImageRegistriesTest, AnotherUrlNeverGetsTheOldPassword) {
  ASSERT_TRUE(create({"mine", "r.test", "me", "pw"}));
  EXPECT_EQ(update({.url = "evil.test"}).error().reason, "invalid_registry_url");
  EXPECT_EQ(run(core->image_registries().get(alice, "mine"))->url, "r.test");
  EXPECT_TRUE(update({.url = "https://r.test/v2"}));
  EXPECT_TRUE(update({.url = "evil.test", .password = "its own"}));
}

}  // namespace
}  // namespace cay::core
