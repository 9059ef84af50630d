#include "api/common/service_names.h"

#include <gtest/gtest.h>

namespace cay::api {
namespace {

constexpr const char* kId = "0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e";

http::RequestHead asked(std::string host, std::string scheme = "http") {
  http::RequestHead head;
  head.host = std::move(host);
  head.scheme = std::move(scheme);
  return head;
}

TEST(ServiceNamesTest, HostsNameOneServiceOrNone) {
  const ServiceNames names;
  const auto place = place_of_host(std::string(kId) + "--8080.LOCALHOST:8787", names);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->sandbox.get(), kId);
  EXPECT_EQ(place->port, 8080);
  EXPECT_EQ(place_of_host(std::string(kId) + "--dl.localhost", names)->port, 0);
  for (const std::string& label : std::vector<std::string>{
           "x", "--80", "x--80", std::string(kId), std::string(kId) + "--",
           std::string(kId) + "--0", std::string(kId) + "--080", std::string(kId) + "--65536",
           std::string(kId) + "--99999999999999999999", std::string(kId) + "--80x",
           std::string(kId) + "--80.x", "x." + std::string(kId) + "--80"}) {
    EXPECT_FALSE(place_of_host(label + ".localhost", names)) << label;
    EXPECT_TRUE(names.is_service_host(label + ".localhost")) << "but never the API: " << label;
  }
  for (const char* dotted : {".localhost.", ".localhost.:8787", ".localhost.."}) {
    EXPECT_TRUE(names.is_service_host("x" + std::string(dotted)))
        << "the absolute form of a name is no way to the API: " << dotted;
    EXPECT_EQ(place_of_host(std::string(kId) + "--8080" + dotted, names)->port, 8080) << dotted;
  }
  for (const char* host :
       {"localhost", "localhost.", "localhost.:1", ".", "localhost:8787", "127.0.0.1", "[::1]:80",
        "notlocalhost", ".localhost", "localhost.evil.example"}) {
    EXPECT_FALSE(names.is_service_host(host)) << host;
  }
}

TEST(ServiceNamesTest, BrowsersTellWhoAsksOverHttpsAndOnTheirOwnMachine) {
  for (const char* host : {"localhost", "x.localhost:80", "x.localhost.", "a.box.LOCALHOST"})
    EXPECT_TRUE(is_trustworthy(asked(host))) << host;
  for (const char* host : {"box.test", "localhost.box.test", "notlocalhost", "10.0.0.1:80", ""}) {
    EXPECT_FALSE(is_trustworthy(asked(host))) << host;
    EXPECT_TRUE(is_trustworthy(asked(host, "https"))) << host;
  }
}

TEST(ServiceNamesTest, AddressesFollowWhatLeadsHere) {
  ServiceNames names;
  const ServicePlace place{SandboxId(kId), 80};
  const std::string host = std::string(kId) + "--80.", path = std::string("/svc/") + kId + "/80";
  auto urls = service_urls(names, asked("127.0.0.1:8787"), place, "T");
  EXPECT_EQ(urls.base, "http://127.0.0.1:8787" + path) << "programs here do not find *.localhost";
  EXPECT_EQ(urls.browser, "http://" + host + "localhost:8787/_svc/auth?token=T") << "browsers do";
  names.resolves = true;
  EXPECT_EQ(service_urls(names, asked("[::1]:8787"), place, "T").base,
            "http://" + host + "localhost:8787");
  urls = service_urls(names, asked("10.0.0.1:8787"), place, "T");
  EXPECT_EQ(urls.base, "http://10.0.0.1:8787" + path);
  EXPECT_EQ(urls.browser, "");
  names = ServiceNames{.domain = "box.example", .local = false};
  urls = service_urls(names, asked("cay.example", "https"), place, "T");
  EXPECT_EQ(urls.base, "https://" + host + "box.example");
  EXPECT_EQ(urls.browser, "https://" + host + "box.example/_svc/auth?token=T");
  names.scheme = "https";
  names.port = ":8443";
  EXPECT_EQ(service_urls(names, asked("127.0.0.1:8787"), place, "T").base,
            "https://" + host + "box.example:8443");
  EXPECT_EQ(download_url(names, asked("127.0.0.1:8787"), SandboxId(kId), "T"),
            std::string("https://") + kId + "--dl.box.example:8443/T");
  EXPECT_EQ(download_url(ServiceNames{}, asked("127.0.0.1:8787"), SandboxId(kId), "T"),
            std::string("http://127.0.0.1:8787/dl/") + kId + "/T");
}

}  // namespace
}  // namespace cay::api
