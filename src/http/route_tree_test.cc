// Routes, paths, and the parameters that a search returns.
#include "http/route_tree.h"

#include <gtest/gtest.h>

namespace cay::http {
namespace {

RouteTree tree_of(std::vector<std::pair<std::string, std::string>> routes) {
  RouteTree tree;
  std::size_t number = 0;
  for (const auto& [method, pattern] : routes) tree.add(method, pattern, number++);
  return tree;
}

TEST(RouteTree, LiteralWinsOverParameterAndParameterOverRest) {
  const auto tree = tree_of({{"GET", "/a/{rest...}"}, {"GET", "/a/{name}"}, {"GET", "/a/b"}});
  EXPECT_EQ(tree.find("GET", {"a", "b"}).route, 2U);
  EXPECT_EQ(tree.find("GET", {"a", "c"}).route, 1U);
  EXPECT_EQ(tree.find("GET", {"a", "c", "d"}).route, 0U);
}

TEST(RouteTree, GoesBackWhereTheBetterChoiceLeadsNowhere) {
  const auto tree = tree_of({{"GET", "/boxes/all/stop"}, {"GET", "/boxes/{name}/start"}});
  const auto found = tree.find("GET", {"boxes", "all", "start"});
  EXPECT_EQ(found.route, 1U);
  EXPECT_EQ(found.parameters, (RouteTree::Parameters{{"name", "all"}}));
}

TEST(RouteTree, ParametersKeepTheNamesOfTheirOwnPattern) {
  const auto tree = tree_of({{"GET", "/v/{id}"}, {"GET", "/v/{box}/files/{path...}"}});
  EXPECT_EQ(tree.find("GET", {"v", "x"}).parameters, (RouteTree::Parameters{{"id", "x"}}));
  EXPECT_EQ(tree.find("GET", {"v", "x", "files", "a", "b"}).parameters,
            (RouteTree::Parameters{{"box", "x"}, {"path", "a/b"}}));
}

TEST(RouteTree, RestTakesNothingToo) {
  const auto tree = tree_of({{"GET", "/files/{path...}"}});
  const auto found = tree.find("GET", {"files"});
  EXPECT_EQ(found.route, 0U);
  EXPECT_EQ(found.parameters, (RouteTree::Parameters{{"path", ""}}));
}

TEST(RouteTree, ParameterIsNeverEmpty) {
  const auto tree = tree_of({{"GET", "/boxes/{name}"}, {"GET", "/list/"}});
  EXPECT_FALSE(tree.find("GET", {"boxes", ""}).route);
  EXPECT_FALSE(tree.find("GET", {"boxes"}).route);
  EXPECT_EQ(tree.find("GET", {"list", ""}).route, 1U);
  EXPECT_FALSE(tree.find("GET", {"list"}).route);
}

TEST(RouteTree, ExactMethodWinsOverAnyOnTheSamePathOnly) {
  const auto tree = tree_of({{"*", "/x"}, {"GET", "/x"}, {"GET", "/{other}"}});
  EXPECT_EQ(tree.find("GET", {"x"}).route, 1U);
  EXPECT_EQ(tree.find("PUT", {"x"}).route, 0U);
}

TEST(RouteTree, OtherMethodsAreReportedWhereNoRouteFits) {
  const auto tree = tree_of({{"GET", "/x"}, {"PUT", "/x"}, {"POST", "/{name}"}});
  const auto refused = tree.find("DELETE", {"x"});
  EXPECT_FALSE(refused.route);
  EXPECT_EQ(refused.of_other_methods, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(tree.find("POST", {"x"}).of_other_methods.empty());
  EXPECT_EQ(tree.find("POST", {"x"}).route, 2U);
  EXPECT_TRUE(tree.find("GET", {"y", "z"}).of_other_methods.empty());
}

TEST(RouteTree, FirstOfTwoEqualRoutesWins) {
  const auto tree = tree_of({{"GET", "/{a}"}, {"GET", "/{b}"}});
  const auto found = tree.find("GET", {"v"});
  EXPECT_EQ(found.route, 0U);
  EXPECT_EQ(found.parameters, (RouteTree::Parameters{{"a", "v"}}));
}

TEST(RouteTree, RootIsAPathWithoutSegments) {
  const auto tree = tree_of({{"GET", "/"}});
  EXPECT_EQ(tree.find("GET", {}).route, 0U);
}

}  // namespace
}  // namespace cay::http
