#include "package_sources.h"

#include <gtest/gtest.h>

#include <map>

namespace cay::app {
namespace {

class PackagesTest : public testing::Test {
 protected:
  std::map<std::string, std::string> files, variables;
  std::vector<std::string> archives;
  NetworkConfig config;
  bool own_authorities = false;

  HostSettings host() const {
    const auto of = [](const std::map<std::string, std::string>& all) {
      return [&all](const std::string& name) {
        const auto found = all.find(name);
        return found == all.end() ? std::string() : found->second;
      };
    };
    return {.text = of(files), .variable = of(variables), .apt_archives = archives};
  }

  std::vector<PackageSource> sources() const {
    return package_sources(config, *policies_of(config), host());
  }

  PackageSource source_of(const std::string& tool) const {
    for (const PackageSource& one : sources()) {
      if (one.tool == tool) return one;
    }
    ADD_FAILURE() << "no source of " << tool;
    return {};
  }

  // With every name at `address`.
  core::Feature judged(const std::string& address) const {
    std::vector<FoundSource> found;
    for (const PackageSource& source : sources()) {
      std::vector<IpAddress> addresses;
      if (const auto one = IpAddress::parse(address)) addresses.push_back(*one);
      found.push_back({source, addresses});
    }
    const auto policies = policies_of(config);
    return packages_feature(found, {.config = config,
                                    .policies = *policies,
                                    .is_own_address = {},
                                    .own_authorities = own_authorities});
  }
};

TEST_F(PackagesTest, TheDefaultsAreThoseOfTheToolsPolicies) {
  archives = {"http://deb.debian.org/debian"};
  EXPECT_EQ(source_of("pip").host, "pypi.org");
  EXPECT_EQ(source_of("pip").port, 443);
  EXPECT_EQ(source_of("npm").host, "registry.npmjs.org");
  EXPECT_EQ(source_of("apt").host, "deb.debian.org");
  EXPECT_EQ(source_of("apt").port, 80);
  const core::Feature feature = judged("151.101.0.223");
  EXPECT_TRUE(feature.ok) << feature.found;
  EXPECT_EQ(feature.remedy, "");
}

TEST_F(PackagesTest, SpecialAddressesAreNamedWithTheTwoLinesThatOpenThem) {
  const core::Feature feature = judged("10.9.8.7");
  EXPECT_FALSE(feature.ok);
  EXPECT_NE(feature.found.find("pypi.org"), std::string::npos) << feature.found;
  EXPECT_NE(feature.remedy.find("\n[network]\n# 10.9.8.7: pypi.org, files.pythonhosted.org"),
            std::string::npos)
      << feature.remedy;
  EXPECT_NE(feature.remedy.find("\nnetworks = [\"10.9.8.7\"]"), std::string::npos);
  EXPECT_EQ(feature.remedy.find("host_authorities"), std::string::npos);
  EXPECT_EQ(feature.remedy.find("[mirrors]"), std::string::npos);

  config.networks = {"10.9.0.0/16"};  // the control: with such a line nothing is missing
  EXPECT_TRUE(judged("10.9.8.7").ok);
  EXPECT_FALSE(judged("10.8.8.7").ok);
}

TEST_F(PackagesTest, WhatIsOpenStaysInTheLine) {
  config.networks = {"10.1.0.0/16"};
  EXPECT_NE(judged("203.0.113.80").remedy.find("\nnetworks = [\"10.1.0.0/16\", \"203.0.113.80\"]"),
            std::string::npos);
}

TEST_F(PackagesTest, AuthoritiesOfTheHostTakeALineOfTheirOwn) {
  own_authorities = true;
  EXPECT_NE(judged("203.0.113.80").remedy.find("\nhost_authorities = true"), std::string::npos);
  config.host_authorities = true;
  EXPECT_EQ(judged("203.0.113.80").remedy.find("host_authorities"), std::string::npos);
}

TEST_F(PackagesTest, AMirrorThatNoPolicyHasIsNamedWithItsLine) {
  variables["HOME"] = "/home/me";
  files["/home/me/.config/pip/pip.conf"] =
      "[global]\nindex-url = https://pip.corp.test:8443/simple\n";
  const PackageSource source = source_of("pip");
  EXPECT_EQ(source.host, "pip.corp.test");
  EXPECT_EQ(source.port, 8443);
  EXPECT_EQ(source.from, "/home/me/.config/pip/pip.conf");
  core::Feature feature = judged("151.101.0.223");
  EXPECT_FALSE(feature.ok);
  EXPECT_NE(feature.found.find("pip.corp.test (pip, by /home/me/.config/pip/pip.conf)"),
            std::string::npos)
      << feature.found;
  EXPECT_NE(feature.remedy.find("\n[mirrors]\npip = \"https://pip.corp.test:8443/simple\""),
            std::string::npos)
      << feature.remedy;

  config.pip = "https://pip.corp.test:8443/simple";  // the control: with that line it is reached
  feature = judged("151.101.0.223");
  EXPECT_TRUE(feature.ok) << feature.remedy;
}

TEST_F(PackagesTest, AVariableCountsBeforeAFile) {
  files["/etc/pip.conf"] = "index-url = https://file.test/simple\n";
  variables["PIP_INDEX_URL"] = "https://variable.test/simple";
  EXPECT_EQ(source_of("pip").host, "variable.test");
  EXPECT_EQ(source_of("pip").from, "PIP_INDEX_URL");
  variables["NPM_CONFIG_REGISTRY"] = "http://10.2.3.4:4873/";
  EXPECT_EQ(source_of("npm").host, "10.2.3.4");
  EXPECT_EQ(source_of("npm").port, 4873);
}

// Every sandbox reads a mirror's URL.
TEST_F(PackagesTest, ACredentialIsNeitherShownNorSuggested) {
  for (const char* url :
       {"https://me:sesame@pip.corp.test/simple", "https://pip.corp.test/simple?token=sesame",
        "https://pip.corp.test/sesame0123456789abcdef/simple"}) {
    variables["PIP_INDEX_URL"] = url;
    const core::Feature feature = judged("151.101.0.223");
    EXPECT_FALSE(feature.ok) << url;
    EXPECT_NE(feature.found.find("pip.corp.test"), std::string::npos) << feature.found;
    EXPECT_NE(feature.remedy.find("may hold a credential"), std::string::npos) << feature.remedy;
    EXPECT_EQ((feature.found + feature.remedy).find("sesame"), std::string::npos) << feature.remedy;
  }
}

TEST_F(PackagesTest, NoSettingIsSuggestedForLoopbackAndMetadata) {
  for (const char* address : {"127.0.0.1", "169.254.169.254"}) {
    const core::Feature feature = judged(address);
    EXPECT_FALSE(feature.ok) << address;
    EXPECT_EQ(feature.remedy.find("networks ="), std::string::npos) << feature.remedy;
    EXPECT_NE(feature.remedy.find(address), std::string::npos) << feature.remedy;
  }
}

TEST_F(PackagesTest, ANameThatIsNotFoundIsReportedAsThat) {
  const core::Feature feature = judged("");
  EXPECT_TRUE(feature.ok);
  EXPECT_NE(feature.found.find("no address found of pypi.org"), std::string::npos) << feature.found;
}

TEST_F(PackagesTest, WithoutThePolicyNothingIsMissing) {
  config.policies = {"off"};
  EXPECT_TRUE(judged("10.9.8.7").ok);
}

TEST_F(PackagesTest, AuthoritiesThatTheDistributionDoesNotShipAreTheHostsOwn) {
  const auto certificate = [](const std::string& body) {
    return "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n";
  };
  files["/etc/ca-certificates.conf"] = "# list\nmozilla/A.crt\n!mozilla/B.crt\n";
  files["/usr/share/ca-certificates/mozilla/A.crt"] = certificate("AAAA");
  files["/etc/ssl/certs/ca-certificates.crt"] = certificate("AA\nAA");
  EXPECT_FALSE(has_own_authorities(host()));
  files["/etc/ssl/certs/ca-certificates.crt"] += certificate("CORP");
  EXPECT_TRUE(has_own_authorities(host()));
  files.erase("/etc/ca-certificates.conf");
  EXPECT_FALSE(has_own_authorities(host()));
}

}  // namespace
}  // namespace cay::app
