// RouteTree: finds the route of a request path. The cost grows with the path, not with the routes.
//
// Patterns are split at "/". A segment is literal text, a parameter "{name}", or, as the last one,
// a rest "{name...}" that takes all remaining segments, also none. At each segment a literal wins
// over a parameter, and a parameter over a rest. If the better choice leads nowhere, the search
// goes back and tries the next one.
//
// Not synchronised: routes are added before the first search.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cay::http {

class RouteTree {
 public:
  using Parameters = std::map<std::string, std::string>;

  struct Found {
    std::optional<std::size_t> route;  // empty: no route has this path with this method
    Parameters parameters;
    std::vector<std::size_t> of_other_methods;  // routes with this path, filled if `route` is empty
  };

  // Adds route number `route`. `method` "*" stands for any. `pattern` begins with "/".
  // If a method and a pattern are added twice, the first route wins.
  void add(std::string_view method, std::string_view pattern, std::size_t route);

  // Finds the route for the decoded segments of a path (http/target.h, split_path).
  Found find(std::string_view method, const std::vector<std::string>& segments) const;

 private:
  struct End {
    std::size_t route;
    std::vector<std::string> names;  // of the parameters on the way here, in order
  };
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::map<std::string, End, std::less<>> ends;   // method -> route that ends here
    std::map<std::string, End, std::less<>> rests;  // method -> route that takes what remains
  };
  class Search;

  Node root_;
};

}  // namespace cay::http
