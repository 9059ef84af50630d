#include "gate/refusal_response.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

TEST(RefusalResponseTest, IsSaidToRequestsAlone) {
  EXPECT_EQ(response_form("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), ResponseForm::kPage);
  EXPECT_EQ(response_form("HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n"), ResponseForm::kHeadOnly);
  EXPECT_EQ(response_form("GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n"), ResponseForm::kPage);
  EXPECT_EQ(response_form("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"),
            ResponseForm::kPage);
  EXPECT_EQ(response_form("GET / HTTP/1.0\r\n\r\n"), ResponseForm::kPage);
  EXPECT_EQ(response_form("GET / HTTP/1.1\r\nHost: a"), ResponseForm::kMore);
  EXPECT_EQ(response_form(""), ResponseForm::kMore);
  EXPECT_EQ(response_form("SSH-2.0-x\r\n"), ResponseForm::kNothing);
  EXPECT_EQ(response_form("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ResponseForm::kNothing);
  EXPECT_EQ(response_form("\x16\x03\x01"), ResponseForm::kNothing);
}

TEST(RefusalResponseTest, SaysWhatAndWhy) {
  const Endpoint address{*IpAddress::parse("169.254.169.254"), 80};
  EXPECT_EQ(why_refused("not_in_policy", "a.test", address),
            "This sandbox's policy does not allow a.test.\n");
  EXPECT_EQ(why_refused("not_in_policy", "", {*IpAddress::parse("192.0.2.1"), 80}),
            "This sandbox's policy does not allow 192.0.2.1.\n");
  EXPECT_EQ(why_refused("private_address", "", address),
            "Nothing in a sandbox may reach 169.254.169.254: it is a cloud's metadata service.\n");
  EXPECT_NE(why_refused("private_address", "", {*IpAddress::parse("8.8.8.8"), 80})
                .find("an address of this host itself"),
            std::string::npos);
  EXPECT_EQ(why_refused("port_not_in_policy", "a.test", address),
            "This sandbox's policy does not allow a.test at port 80.\n");
  EXPECT_NE(why_refused("names_no_host", "", address).find("names no host"), std::string::npos);
  EXPECT_NE(why_refused("not_http", "", address).find("in two ways"), std::string::npos);
  EXPECT_EQ(refusal_response("No.\n", ResponseForm::kPage),
            "HTTP/1.1 403 Not allowed by this sandbox's network policy\r\nContent-Type: "
            "text/plain\r\nConnection: close\r\nContent-Length: 4\r\n\r\nNo.\n");
  EXPECT_TRUE(
      refusal_response("No.\n", ResponseForm::kHeadOnly).ends_with("Content-Length: 4\r\n\r\n"));
}

}  // namespace
}  // namespace cay::gate
