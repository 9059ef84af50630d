// A tree of segments, searched depth first.
#include "http/route_tree.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace cay::http {

namespace {

constexpr std::string_view kAnyMethod = "*";

bool is_parameter(std::string_view part) {
  return part.size() > 2 && part.front() == '{' && part.back() == '}';
}

bool is_rest(std::string_view part) {
  return is_parameter(part) && part.size() > 5 && part.ends_with("...}");
}

std::vector<std::string_view> split_pattern(std::string_view pattern) {
  CAY_ASSERT(pattern.starts_with('/'));
  std::vector<std::string_view> parts;
  pattern.remove_prefix(1);
  while (!pattern.empty()) {
    const auto end = std::min(pattern.find('/'), pattern.size());
    parts.push_back(pattern.substr(0, end));
    if (end == pattern.size()) break;
    pattern.remove_prefix(end + 1);
    if (pattern.empty()) parts.emplace_back();  // "/a/" ends in an empty segment
  }
  return parts;
}

std::string joined(const std::vector<std::string>& segments, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < segments.size(); ++i) text += (i > from ? "/" : "") + segments[i];
  return text;
}

}  // namespace

void RouteTree::add(std::string_view method, std::string_view pattern, std::size_t route) {
  Node* node = &root_;
  End end{route, {}};
  for (const std::string_view part : split_pattern(pattern)) {
    if (is_rest(part)) {
      end.names.emplace_back(part.substr(1, part.size() - 5));
      node->rests.try_emplace(std::string(method), std::move(end));
      return;
    }
    std::unique_ptr<Node>* next = &node->parameter;
    if (is_parameter(part)) {
      end.names.emplace_back(part.substr(1, part.size() - 2));
    } else {
      next = &node->literals[std::string(part)];
    }
    if (*next == nullptr) *next = std::make_unique<Node>();
    node = next->get();
  }
  node->ends.try_emplace(std::string(method), std::move(end));
}

// One search: the path so far, and what it has found.
class RouteTree::Search {
 public:
  Search(std::string_view method, const std::vector<std::string>& segments)
      : method_(method), segments_(segments) {}

  // Returns true once a route is found below `node`, whose path ends before segment `depth`.
  bool descend(const Node& node, std::size_t depth) {
    if (depth == segments_.size()) return take(node.ends, {}) || take(node.rests, "");
    const std::string& segment = segments_[depth];
    if (const auto literal = node.literals.find(segment); literal != node.literals.end()) {
      if (descend(*literal->second, depth + 1)) return true;
    }
    if (node.parameter != nullptr && !segment.empty()) {  // "/boxes/" names no box
      values_.push_back(segment);
      if (descend(*node.parameter, depth + 1)) return true;
      values_.pop_back();
    }
    return !node.rests.empty() && take(node.rests, joined(segments_, depth));
  }

  Found result() && { return std::move(found_); }

 private:
  bool take(const std::map<std::string, End, std::less<>>& ends, std::optional<std::string> rest) {
    auto end = ends.find(method_);
    if (end == ends.end()) end = ends.find(kAnyMethod);
    if (end == ends.end()) {
      for (const auto& [method, other] : ends) found_.of_other_methods.push_back(other.route);
      return false;
    }
    if (rest) values_.push_back(*std::move(rest));
    found_.route = end->second.route;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      found_.parameters[end->second.names[i]] = std::move(values_[i]);
    }
    found_.of_other_methods.clear();
    return true;
  }

  std::string_view method_;
  const std::vector<std::string>& segments_;
  std::vector<std::string> values_;
  Found found_;
};

RouteTree::Found RouteTree::find(std::string_view method,
                                 const std::vector<std::string>& segments) const {
  Search search(method, segments);
  search.descend(root_, 0);
  return std::move(search).result();
}

}  // namespace cay::http
