#include "api/outbound/webhook_signature.h"

#include <gtest/gtest.h>

namespace cay::api {
namespace {

// Made with another implementation (Python's hmac).
TEST(WebhookSignatureTest, IsTheOneOfTheSpecification) {
  const auto key = webhook_key("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  ASSERT_TRUE(key);
  EXPECT_EQ(webhook_signature(*key, "msg_1", 1700000000, R"({"a":1})"),
            "v1,AMaOha7DUT/0J0JMycRuYOBSvbx3WtwLd2khXXbaVj4=");
  EXPECT_NE(webhook_signature(*key, "msg_1", 1700000001, R"({"a":1})"),
            webhook_signature(*key, "msg_1", 1700000000, R"({"a":1})"));
}

TEST(WebhookSignatureTest, WeakOrMisspeltSecretsAreRefused) {
  for (const char* secret : {"", "whsec_", "whsec_AAECAw==",
                             "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "whsec_not base64"}) {
    EXPECT_EQ(webhook_key(secret).error().reason, "bad_webhook_secret") << secret;
  }
}

}  // namespace
}  // namespace cay::api
