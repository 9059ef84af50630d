// Options that several commands have: of a new sandbox, of its timers and of a command in it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/options.h"

namespace cay::cli {

// The seconds of `text`, rounded up: a part of a second must not become 0, which means never.
std::int64_t must_seconds(const std::string& text, std::string_view option);
// Bytes, more than 0, which would be sent as "the default".
std::uint64_t must_some(const std::string& text, std::string_view option);

// --ttl, --delete-after-stop and --lifetime, of a creation or a change.
class TimerWords {
 public:
  void declare(Options& to);
  // Returns false if none was given.
  template <class T>
  bool fill(T& to) const {
    set(to.idle_ttl_s, ttl_, "--ttl");
    set(to.delete_after_stop_s, gone_, "--delete-after-stop");
    set(to.lifetime_s, lifetime_, "--lifetime");
    return to.idle_ttl_s || to.delete_after_stop_s || to.lifetime_s;
  }

 private:
  static void set(std::optional<std::int64_t>& to, const std::string& text,
                  std::string_view option);
  std::string ttl_, gone_, lifetime_;
};

// The options of `create` and `run`.
class CreateWords {
 public:
  void declare(Options& to, sdk::CreateOptions& sandbox, std::string& image, RuleArgs& rules);
  void fill(sdk::CreateOptions& sandbox, const std::string& image, const RuleArgs& rules) const;

 private:
  std::vector<std::string> labels_, tmpfs_, volumes_;
  std::string cpus_, memory_, disk_, pids_;
  bool keep_awake_ = false;
  TimerWords timers_;
};

// The options of `run` and `exec`.
class ExecWords {
 public:
  void declare(Options& to, ExecArgs& exec);
  void declare_command(Options& to);
  // `run`: returns the one word before `--`, which names an image. Empty: there is none. Without
  // `--` all words are the command.
  std::string take_image(const Line& line);
  // `example`: what to write if there is no command. Empty: it may be missing.
  void fill(ExecArgs& exec, const Line& line, const std::string& example) const;

 private:
  std::vector<std::string> env_, command_;
  std::string timeout_, keep_;
};

// --use, --fence, --method, --path and --proxy, of every command that takes rules.
void declare_rules(Options& to, RuleArgs& rules);
// --read-only and --hide, of a new sandbox and of an agent.
void declare_paths(Options& to, std::vector<std::string>& read_only,
                   std::vector<std::string>& hidden);
// The paths that take the place of those of before. "none" alone is none. Absent: they stay.
std::optional<std::vector<std::string>> replaced_paths(const std::vector<std::string>& paths,
                                                       std::string_view option);
// Ends parsing where they do not go together.
void check(const RuleArgs& rules);

// Ends parsing where a verb for several sandboxes has none, or names beside --all. `labelled`:
// labels choose them.
void check_refs(const RefsArgs& args, bool labelled);

// Returns why a policy's words are refused: empty ones would mean the daemon's default.
std::string no_empty_policy(const std::string& words);

}  // namespace cay::cli
