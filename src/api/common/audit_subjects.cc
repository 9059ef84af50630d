#include "api/common/audit_subjects.h"

#include <map>
#include <utility>

#include "api/common/subjects.h"
#include "codec/utf8.h"

namespace cay::api {
namespace {

// Together less than a line of the audit log has room for (2 KiB), so that no part is cut by the
// others.
constexpr std::size_t kMostPolicy = 600, kMostProxy = 500, kMostNames = 150, kMostWord = 100,
                      kMostPath = 300;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Returns the caller's text for a line, also of a refused request: without line breaks, and no
// longer than `most`.
std::string shown(std::string_view text, std::size_t most) {
  std::string out = codec::sanitised_utf8(text.substr(0, most));
  for (char& c : out) {
    if (is_control(c)) c = '?';
  }
  return out + (text.size() > most ? "..." : "");
}

// As a part of a line, which ends at a ';'.
std::string word(std::string_view text, std::size_t most = kMostWord) {
  std::string out = shown(text, most);
  for (char& c : out) {
    if (c == ';') c = '?';
  }
  return out;
}

class Parts {
 public:
  void add(const std::string& part) { text_ += (text_.empty() ? "" : "; ") + part; }
  void add(const char* member, std::string_view value, std::size_t most = kMostWord) {
    add(std::string(member) + ": " + word(value, most));
  }
  void add_number(const char* member, std::uint64_t value) { add(member, std::to_string(value)); }
  void add_time(const char* member, std::int64_t value) { add(member, std::to_string(value)); }
  void add_names(const char* member, const std::map<std::string, std::string>& in) {
    Subjects names(member, kMostNames);
    for (const auto& [name, value] : in) names.add(word(name));
    add(names.text());
  }
  void add_paths(const char* member, const PathList& paths) {
    Subjects names(member, kMostNames);
    for (const std::string& path : paths) names.add(word(path));
    add(names.text());
  }
  // A name, or rules: one a line, or with commas between.
  void add_policy(std::string_view policy) {
    while (policy.ends_with('\n')) policy.remove_suffix(1);
    std::string line;
    for (const char c : policy.substr(0, kMostPolicy + 1))
      line += c == '\n' ? std::string(", ") : std::string(1, c);
    add("policy", line, kMostPolicy);
  }
  void add_proxy(const std::vector<ProxyRule>& proxy) {
    Subjects rules("proxy", kMostProxy);
    for (const ProxyRule& rule : proxy)
      rules.add(word(rule.name) +
                (rule.is_fence() ? " (a fence)" : " with secret " + word(rule.secret)));
    add(rules.text());
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string changes_subject(const SandboxPatch& patch) {
  Parts out;
  if (patch.policy) out.add_policy(*patch.policy);
  if (patch.proxy) out.add_proxy(*patch.proxy);
  if (patch.name) out.add("name", *patch.name);
  if (patch.labels) out.add_names("labels", *patch.labels);
  if (patch.cpu_millicores) out.add_number("cpu_millicores", *patch.cpu_millicores);
  if (patch.memory_bytes) out.add_number("memory_bytes", *patch.memory_bytes);
  if (patch.disk_bytes) out.add_number("disk_bytes", *patch.disk_bytes);
  if (patch.idle_ttl_s) out.add_time("idle_ttl_s", *patch.idle_ttl_s);
  if (patch.delete_after_stop_s) out.add_time("delete_after_stop_s", *patch.delete_after_stop_s);
  if (patch.lifetime_s) out.add_time("lifetime_s", *patch.lifetime_s);
  if (patch.commands_keep_awake)
    out.add("commands_keep_awake", *patch.commands_keep_awake ? "true" : "false");
  if (patch.read_only_paths) out.add_paths("read_only_paths", *patch.read_only_paths);
  if (patch.hidden_paths) out.add_paths("hidden_paths", *patch.hidden_paths);
  if (patch.run && patch.run->user) out.add("user", *patch.run->user);
  if (patch.run && patch.run->workdir) out.add("workdir", *patch.run->workdir);
  if (patch.run && !patch.run->env.empty()) out.add_names("env", patch.run->env);
  std::string text = std::move(out).text();
  return text.empty() ? "nothing" : text;
}

std::string settings_subject(const SandboxSpec& spec) {
  Parts out;
  if (!spec.policy.empty()) out.add_policy(spec.policy);
  if (!spec.proxy.empty()) out.add_proxy(spec.proxy);
  return std::move(out).text();
}

std::string creation_subject(std::string_view name, const std::string& settings) {
  return (name.empty() ? "a sandbox" : "sandbox " + word(name)) +
         (settings.empty() ? "" : "; " + settings);
}

std::string link_subject(const LinkSpec& spec) {
  const std::string how_long =
      spec.lifetime_s ? "for " + std::to_string(*spec.lifetime_s) + " s" : "until withdrawn";
  return spec.is_service() ? "port " + std::to_string(spec.port) + " " + how_long
                           : how_long + ": " + path_subject(spec.path);
}

std::string hosts_subject(const std::vector<std::string>& hosts) {
  Subjects out("hosts");
  for (const auto& host : hosts) out.add(word(host));
  return out.text();
}

std::string path_subject(std::string_view path) { return shown(path, kMostPath); }

}  // namespace cay::api
