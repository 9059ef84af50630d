// VaultFixture: a keyring and grants in a directory of their own, for tests.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "vault/grants.h"
#include "vault/keyring.h"
#include "vault/rules.h"

namespace cay::vault::testing {

inline constexpr const char* kId = "0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e";
inline constexpr const char* kOther = "0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6f";
inline constexpr const char* kSecret = "sk-live-0123456789";

class VaultFixture : public ::testing::Test {
 protected:
  VaultFixture() {
    auto opened = Keyring::open(directory.get(), {});
    EXPECT_TRUE(opened);
    keys = std::make_unique<Keyring>(*std::move(opened));
    grants = std::make_unique<Grants>(directory.get(), *keys);
  }

  // Returns a grant with one rule: a secret of tenant t with this value, for `host`.
  wire::VaultGrant grant(const std::string& id, ProxyWay way, const std::string& host = "api.test",
                         const std::string& value = kSecret) const {
    wire::VaultGrant out;
    out.sandbox_id = id;
    out.tenant = "t";
    wire::VaultRule rule;
    rule.name = "r";
    rule.way = static_cast<std::uint8_t>(way);
    rule.secret = {"t", "key", 1, {host}, ""};
    rule.secret.sealed = *keys->seal(about_secret(rule.secret), value);
    out.rules.push_back(rule);
    return out;
  }

  const cay::testing::TempDir temp;
  const UniqueFd directory = temp.open();
  std::unique_ptr<Keyring> keys;
  std::unique_ptr<Grants> grants;
};

}  // namespace cay::vault::testing
