// The words of `net`, `policy`, `secret` and `proxy`: what a sandbox may reach, and with what.
#pragma once
#include <functional>
#include <string>

#include "cli/args.h"

namespace CLI {
class App;
}

namespace cay::cli {

template <class T>
struct CommandLine {
  std::string name, help, examples;
  std::function<T()>
      make;  // once all words are read; throws what CLI11 does where they do not go together
  std::function<void(CLI::App& sub)> options;  // declares them
};

// For every command that takes rules: declares their options, which live as long as `sub`.
void rule_options(CLI::App& sub, RuleArgs& to);
// Throws what CLI11 does where they do not go together.
void check(const RuleArgs& args);

// Why a policy's words are none: an empty one would be the daemon's default.
std::string no_empty_policy(const std::string& words);

CommandLine<NetArgs> net_command_line();
CommandLine<PolicyArgs> policy_command_line();
CommandLine<SecretArgs> secret_command_line();
CommandLine<ProxyArgs> proxy_command_line();

}  // namespace cay::cli
