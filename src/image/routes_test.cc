#include "image/routes.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

TEST(RoutesTest, MirrorsOfOneRegistryComeInTheirOrder) {
  Settings settings;
  settings.mirrors = {{"docker.io", "http://localhost:5000"},
                      {"ghcr.io", "https://other.example"},
                      {"docker.io", "https://mirror.example/hub"}};
  const auto found = mirrors_of(settings, "docker.io");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].origin(), "http://localhost:5000");
  EXPECT_EQ(found[1].target, "/hub");
  EXPECT_TRUE(mirrors_of(settings, "quay.io").empty());
}

TEST(RoutesTest, TheProxyIsForHostsThatNobodyExcepts) {
  Settings settings;
  settings.proxy.host = "proxy.example";
  settings.proxy.port = 3128;
  settings.proxy.not_for = {"corp.example", ".lab.example", "8.8.0.0/16"};
  const http::ClientProxy proxy = proxy_of(settings);
  EXPECT_EQ(proxy.port, 3128);
  for (const char* host : {"corp.example", "a.corp.example", "x.lab.example"})
    EXPECT_TRUE(proxy.is_direct(host, {})) << host;
  for (const char* host : {"registry-1.docker.io", "notcorp.example"})
    EXPECT_FALSE(proxy.is_direct(host, {})) << host;
  const auto at = [](const char* text) { return std::vector{*IpAddress::parse(text)}; };
  EXPECT_TRUE(proxy.is_direct("a.example", at("8.8.4.4")));
  EXPECT_FALSE(proxy.is_direct("a.example", at("9.9.9.9")));
  EXPECT_TRUE(proxy.is_direct("a.example", at("10.0.0.1"))) << "special addresses are not outside";
}

}  // namespace
}  // namespace cay::image
