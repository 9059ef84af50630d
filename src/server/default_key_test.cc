#include "server/default_key.h"

#include <gtest/gtest.h>

#include "core/testing/fake_store.h"

namespace cay::server {
namespace {

TEST(DefaultKeyTest, AnotherKeyIsAnotherFromThenOn) {
  core::testing::FakeStore store;
  EXPECT_EQ(*default_key_since(store, hash_key("one"), 10), 0)
      << "the first: whatever there is was made by it";
  EXPECT_EQ(*default_key_since(store, hash_key("one"), 20), 0);
  EXPECT_EQ(*default_key_since(store, hash_key("two"), 30), 30);
  EXPECT_EQ(*default_key_since(store, hash_key("two"), 40), 30) << "over a restart";
  EXPECT_EQ(*default_key_since(store, hash_key("one"), 50), 50)
      << "one that comes back does not bring its links back";
  for (auto& [name, value] : store.meta) value.pop_back();
  EXPECT_EQ(*default_key_since(store, hash_key("one"), 60), 5)
      << "the control: it is read from there";
  for (auto& [name, value] : store.meta) value = "damaged";
  EXPECT_EQ(*default_key_since(store, hash_key("one"), 70), 70);
}

TEST(DefaultKeyTest, WhatCannotBeKeptIsAnError) {
  core::testing::FakeStore store;
  store.write_error = Error{Code::kExhausted, "disk_full", "no room", 0};
  EXPECT_EQ(default_key_since(store, hash_key("one"), 10).error().reason, "disk_full");
}

}  // namespace
}  // namespace cay::server
