#include "codec/fields.h"

#include <gtest/gtest.h>

namespace cay::codec {
namespace {

json::object object(std::string_view text) { return *parse_object(text); }

TEST(FieldsTest, ReadsWhatIsThereAndLeavesWhatIsNot) {
  const auto in =
      object(R"({"s":"x","b":true,"i":5,"d":1.5,"n":null,"m":{"K":"V"},"a":["p","q"]})");
  Fields fields(in);
  std::string s;
  std::string n = "kept";
  bool b = false;
  std::int64_t i = 0;
  double d = 0;
  std::map<std::string, std::string> m;
  std::vector<std::string> a;
  EXPECT_TRUE(fields.read("s", s) && fields.read("b", b) && fields.read("i", i, 0, 9) &&
              fields.read("d", d, 0, 9) && fields.read("m", m, 9) && fields.read("a", a, 9));
  EXPECT_FALSE(fields.read("n", n));
  EXPECT_EQ(n, "kept");
  fields.refuse_unknown();
  EXPECT_TRUE(fields.ok());
}

TEST(FieldsTest, EveryComplaintNamesItsPlace) {
  const auto in = object(R"({"limits":{"pids":0,"what":1},"name":7,"env":{"A":1}})");
  Fields fields(in);
  std::string name;
  fields.read("name", name);
  std::map<std::string, std::string> env;
  fields.read("env", env, 9);
  Fields inner(*fields.object("limits"), fields.path("limits"));
  std::int64_t pids = 0;
  inner.read("pids", pids, 1, 5);
  inner.refuse_unknown();
  fields.adopt(inner);
  ASSERT_EQ(fields.complaints().size(), 4u);
  EXPECT_EQ(fields.complaints()[2].where, (std::vector<std::string>{"limits", "pids"}));
  const auto error = fields.first_error();
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().reason, "invalid_field");
  EXPECT_EQ(error.error().message, "name: must be a string");
}

TEST(FieldsTest, MalformedJsonIsRefused) {
  const std::string deep(100, '[');
  for (const auto& bad : {std::string("{"), std::string("{}x"), std::string("[]"),
                          std::string("{\"a\":\"\xFF\"}"), std::string("{'a':1}"),
                          std::string("nul"), deep, std::string(), std::string("{\"a\":1,}")}) {
    const auto got = parse_object(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().reason, "malformed_json");
  }
  EXPECT_TRUE(parse_object(" {} \n"));
  EXPECT_TRUE(parse_object("", Empty::kIsObject));
}

}  // namespace
}  // namespace cay::codec
