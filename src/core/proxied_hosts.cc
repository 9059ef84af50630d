#include "core/proxied_hosts.h"

#include <algorithm>

#include "model/path_pattern.h"

namespace cay::core {
namespace {

using Kind = ProxiedHost::Kind;

constexpr std::uint16_t kHttp = 80;
constexpr std::size_t kMostTold = 4;  // methods or paths of a rule

std::string listed(const std::vector<std::string>& all, const char* none) {
  if (all.empty()) return none;
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kMostTold); ++i)
    out += (i == 0 ? "" : ", ") + all[i];
  if (all.size() > kMostTold) out += " and " + std::to_string(all.size() - kMostTold) + " more";
  return out;
}

std::string names_of(const std::vector<const ProxiedHost*>& rules) {
  std::string out;
  for (const ProxiedHost* one : rules) out += (out.empty() ? "'" : ", '") + one->rule + "'";
  return out;
}

// Whether everybody reads it as we do.
bool is_plain(std::string_view path) {
  if (!std::ranges::all_of(path,
                           [](char c) { return c > ' ' && c < 0x7f && c != '%' && c != '\\'; }))
    return false;
  while (!path.empty()) {
    path.remove_prefix(1);  // '/'
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    const std::string_view name = segment.substr(0, segment.find(';'));
    if (name.empty() ? !path.empty() : name.find_first_not_of('.') == std::string_view::npos)
      return false;
  }
  return true;
}

bool has_path(const ProxiedHost& rule, const std::string& path) {
  return rule.paths.empty() || std::ranges::any_of(rule.paths, [&](const std::string& pattern) {
           return path_matches(pattern, path);
         });
}

// "GET of /v1/**, or POST of /v1/files"; empty where one of them lets all through.
std::string limits_of(const std::vector<const ProxiedHost*>& rules) {
  std::string out;
  for (const ProxiedHost* one : rules) {
    if (one->methods.empty() && one->paths.empty()) return "";
    out += (out.empty() ? "" : ", or ") + listed(one->methods, "every method") + " of " +
           listed(one->paths, "every path");
  }
  return out;
}

}  // namespace

ByProxy by_proxy(std::span<const ProxiedHost> all, const std::string& host, std::uint16_t port,
                 const std::string& path) {
  std::vector<const ProxiedHost*> here, fences;
  ByProxy out;
  for (const ProxiedHost& one : all) {
    if (one.kind == Kind::kBaseUrl) continue;
    if (one.host.matches(host, port)) {
      here.push_back(&one);
      out.opens = out.opens || one.kind == Kind::kSecret;
    } else if (one.kind == Kind::kFence && port == kHttp && one.host.matches(host, one.host.port)) {
      fences.push_back(&one);
    }
  }
  if (here.empty()) {
    if (fences.empty()) return out;
    out.rules = names_of(fences);
    out.reason = "fenced";
    return out;
  }
  out.rules = names_of(here);
  std::erase_if(here, [](const ProxiedHost* one) { return one->gone; });
  if (here.empty()) {
    out.reason = "secret_gone";
    return out;
  }
  const bool judged = !path.empty() && is_plain(path);
  const std::string limits = limits_of(here);
  if (judged) std::erase_if(here, [&](const ProxiedHost* one) { return !has_path(*one, path); });
  if (here.empty()) {
    out.reason = "path_not_in_rule";
    out.note = "by TLS alone, " + limits;
    return out;
  }
  const std::string left = judged ? limits_of(here) : limits;
  if (left.empty()) return out;
  out.note = "by TLS alone, " + left;
  if (!path.empty() && !judged)
    out.note += "; whether that path is one of them is judged when it is used";
  return out;
}

}  // namespace cay::core
