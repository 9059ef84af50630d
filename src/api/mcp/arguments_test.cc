#include "api/mcp/arguments.h"

#include <gtest/gtest.h>

#include "api/mcp/tools.h"

namespace cay::api::mcp {
namespace {

const std::vector<Param>& params() {
  static const std::vector<Param> kParams = [] {
    Param kind = text("kind", "Kind", 10);
    kind.one_of = {"a", "b"};
    return std::vector<Param>{needed(text("name", "Name", 4)),
                              integer("count", "Count", 1, 9),
                              number("cpus", "CPUs", 0, 2),
                              flag("all", "All"),
                              texts("names", "Names"),
                              map("env", "Environment"),
                              kind};
  }();
  return kParams;
}

std::string wrong(std::string_view text) {
  const auto value = codec::parse(text);
  EXPECT_TRUE(value) << text;
  return wrong_with(value->as_object(), params());
}

TEST(ArgumentsTest, TakesWhatTheSchemaAllows) {
  EXPECT_EQ(wrong(R"({"name":"box"})"), "");
  EXPECT_EQ(wrong(R"({"name":"box","count":9,"cpus":0.5,"all":true,"names":["x"],
                      "env":{"A":"1"},"kind":"b"})"),
            "");
  EXPECT_EQ(wrong(R"({"name":"box","count":3.0,"all":null})"), "");
}

TEST(ArgumentsTest, NamesWhatIsWrong) {
  const std::string many(300, 'x');
  for (const auto& [text, complaint] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{}", "name: is needed"},
           {R"({"name":7})", "name: must be a string"},
           {R"({"name":"boxes"})", "name: is longer than 4 bytes"},
           {R"({"name":"a\u0000"})", "name: contains a NUL"},
           {R"({"name":"a","count":0})", "count: must be from 1 to 9"},
           {R"({"name":"a","count":1.5})", "count: must be an integer"},
           {R"({"name":"a","count":1e300})", "count: must be from 1 to 9"},
           {R"({"name":"a","count":18446744073709551615})", "count: must be from 1 to 9"},
           {R"({"name":"a","count":"1"})", "count: must be an integer"},
           {R"({"name":"a","cpus":"1"})", "cpus: must be a number"},
           {R"({"name":"a","all":1})", "all: must be true or false"},
           {R"({"name":"a","names":"x"})", "names: must be an array of strings"},
           {R"({"name":"a","names":[1]})", "names: an entry must be a string"},
           {R"({"name":"a","env":["x"]})", "env: must be an object of strings"},
           {R"({"name":"a","env":{"A":1}})", "env: an entry must be a string"},
           {R"({"name":"a","kind":"c"})", "kind: must be one of a, b"},
           {R"({"name":"a","more":1})", "more: is no argument of this tool"}}) {
    EXPECT_EQ(wrong(text), complaint) << text;
  }
}

TEST(ArgumentsTest, ComplaintsAreBounded) {
  json::object in{{"name", "a"}};
  for (int i = 0; i < 10'000; ++i) in[std::string(1000, 'x') + std::to_string(i)] = 1;
  EXPECT_LT(wrong_with(in, params()).size(), 4096u);
}

TEST(ArgumentsTest, SchemaStatesTheBounds) {
  const json::object schema = schema_of(params());
  EXPECT_EQ(schema.at("type"), "object");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(codec::write(schema.at("required")), R"(["name"])");
  const json::object& properties = schema.at("properties").as_object();
  EXPECT_EQ(properties.at("name").at("maxLength"), 4);
  EXPECT_EQ(properties.at("count").at("maximum"), 9);
  EXPECT_EQ(codec::write(properties.at("kind").at("enum")), R"(["a","b"])");
}

TEST(ToolsTest, EachToolIsWhole) {
  for (const Tool& tool : tools()) {
    EXPECT_NE(tool.function, nullptr) << tool.name;
    EXPECT_FALSE(tool.description.empty()) << tool.name;
    EXPECT_EQ(find_tool(tool.name), &tool) << tool.name;
    EXPECT_FALSE(tool.read_only && tool.destructive) << tool.name;
    // A key that may only look reaches no tool that changes something.
    EXPECT_EQ(tool.read_only, allows(KeyScope::kRead, tool.right)) << tool.name;
    for (const Param& param : tool.params) {
      EXPECT_FALSE(param.about.empty()) << tool.name << " " << param.name;
      EXPECT_LE(param.min, param.max) << tool.name << " " << param.name;
    }
  }
  EXPECT_EQ(find_tool("no_tool"), nullptr);
}

}  // namespace
}  // namespace cay::api::mcp
