#include "api/native/native_test.h"

namespace cay::api {
namespace {

class NativeUsageTest : public NativeTest {
 protected:
  void make(const std::string& name, const std::string& team) {
    EXPECT_EQ(call("POST", "/api/v1/sandboxes",
                   R"({"name":")" + name + R"(","labels":{"team":")" + team + R"("}})")
                  ->status,
              201);
  }
};

TEST_F(NativeUsageTest, OfOneSandbox) {
  const std::string box = make_box();
  runtime.only_box().numbers.cpu_usec = 1'500'000;
  const auto got = json(call("GET", box + "/usage"));
  EXPECT_DOUBLE_EQ(got.at("cpu_seconds").as_double(), 1.5);
  EXPECT_EQ(got.at("sandbox").as_string(), "box");
  EXPECT_EQ(call("GET", "/api/v1/sandboxes/none/usage")->status, 404);
}

TEST_F(NativeUsageTest, SumsByLabel) {
  make("one", "x");
  make("two", "y");
  const auto all = json(call("GET", "/api/v1/usage?group_by=team"));
  EXPECT_EQ(all.at("sandboxes").to_number<int>(), 2);
  EXPECT_EQ(all.at("groups").as_array().size(), 2u);
  EXPECT_EQ(all.at("groups").at(0).at("value").as_string(), "x");
  EXPECT_EQ(json(call("GET", "/api/v1/usage?label=team%3Dy")).at("sandboxes").to_number<int>(), 1);
  EXPECT_EQ(reason_of(call("GET", "/api/v1/usage?label=%3Dy")), "invalid_query");
}

TEST_F(NativeUsageTest, AllThatRunAtOnce) {
  make("one", "x");
  make("two", "y");
  call("POST", "/api/v1/sandboxes/two/stop");
  const auto items = json(call("GET", "/api/v1/stats")).at("items").as_array();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items.at(0).at("sandbox").as_string(), "one");
  EXPECT_TRUE(items.at(0).as_object().contains("limits"));
}

TEST_F(NativeUsageTest, BatchDeleteByLabelAndAll) {
  make("one", "x");
  make("two", "y");
  make("three", "y");
  const auto got = json(call("POST", "/api/v1/sandboxes/batch-delete", R"({"labels":["team=y"]})"));
  EXPECT_EQ(got.at("deleted").as_array().size(), 2u);
  EXPECT_TRUE(got.at("failed").as_array().empty());
  for (const char* nothing : {"{}", R"({"labels":[]})", R"({"all":false})",
                              R"({"all":true,"refs":["one"]})", R"({"labels":["=x"]})"}) {
    EXPECT_EQ(call("POST", "/api/v1/sandboxes/batch-delete", nothing)->status, 400) << nothing;
  }
  EXPECT_EQ(store.rows.size(), 1u);
  EXPECT_TRUE(json(call("POST", "/api/v1/sandboxes/batch-delete", R"({"refs":[]})"))
                  .at("deleted")
                  .as_array()
                  .empty());
  EXPECT_EQ(json(call("POST", "/api/v1/sandboxes/batch-delete", R"({"all":true})"))
                .at("deleted")
                .as_array()
                .size(),
            1u);
}

}  // namespace
}  // namespace cay::api
