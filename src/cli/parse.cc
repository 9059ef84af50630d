#include "cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

class Parser {
 public:
  Parser(const std::vector<Hook>& hooks, std::vector<Command> commands)
      : commands_(std::move(commands)) {
    app_.name("cay");
    app_.description("Isolated Linux computers for AI agents, on your machine.");
    app_.require_subcommand(0, 1);
    app_.set_help_flag("-h,--help", "Show this and end");
    app_.footer(
        "`cay COMMAND --help` shows a command's options, with examples.\n"
        "The daemon is found by CAY_URL and CAY_API_KEY (default: loopback and the local key "
        "file).");
    for (const auto& hook : hooks) {
      auto* command = app_.add_subcommand(hook.name, hook.help)->group("Daemon");
      if (!hook.alias.empty()) command->alias(hook.alias);
    }
    line_.commands = [this] { return words(); };
    for (const Command& command : commands_) add(command);
  }

  Parsed parse(std::vector<std::string> args) {
    split_command(args);
    if (args == std::vector<std::string>{"--version"}) args = {"version"};
    use_short_name(args);
    if (args.empty()) return {std::nullopt, kOurFailure, {}, app_.help()};
    try {
      std::ranges::reverse(args);  // CLI11 takes them from the back
      app_.parse(std::move(args));
      if (chosen_ == nullptr) return {std::nullopt, kOurFailure, {}, app_.help()};
      return finish();
    } catch (const CLI::ParseError& thrown) {
      return explain(thrown);
    }
  }

 private:
  // All that follows "--" is the command, whatever it looks like.
  void split_command(std::vector<std::string>& args) {
    const auto dashes = std::ranges::find(args, "--");
    if (dashes == args.end()) return;
    line_.has_dashes = true;
    line_.after.assign(dashes + 1, args.end());
    args.erase(dashes, args.end());
  }

  void use_short_name(std::vector<std::string>& args) const {
    if (args.size() < 2) return;
    const auto known = std::ranges::find(commands_, args[0] + " " + args[1], &Command::long_name);
    if (known == commands_.end()) return;
    args.erase(args.begin());
    args.front() = known->name;
  }

  void add(const Command& command) {
    auto* sub = app_.add_subcommand(command.name, command.help);
    sub->group(command.group);
    sub->set_help_flag("-h,--help", "Show this and end");
    sub->footer("Examples:\n" + command.examples);
    sub->add_flag("--json", line_.json, "Answer with JSON on stdout");
    sub->callback([this, &command] { chosen_ = &command; });
    Options options(*sub);
    if (command.options) command.options(options);
  }

  std::vector<CompletionWord> words() const {
    std::vector<CompletionWord> out;
    for (const auto* sub : app_.get_subcommands(nullptr)) {
      CompletionWord word{.command = sub->get_name(), .help = sub->get_description()};
      const auto known = std::ranges::find(commands_, word.command, &Command::name);
      if (known != commands_.end()) {
        word.actions = known->actions;
        word.takes_snapshot = known->takes_snapshot;
      }
      for (const auto* option : sub->get_options()) {
        for (const auto& name : option->get_lnames()) word.options.push_back("--" + name);
        if (option->get_name() == "SANDBOX") word.takes_sandbox = true;
      }
      out.push_back(std::move(word));
    }
    return out;
  }

  Parsed finish() {
    if (line_.has_dashes && !chosen_->takes_a_program && !line_.after.empty())
      throw CLI::ExtrasError({std::vector<std::string>(line_.after)});
    return {Invocation{.args = chosen_->args(line_),
                       .run = chosen_->run,
                       .json = line_.json,
                       .shows_a_program = chosen_->shows_a_program},
            0,
            {},
            {}};
  }

  std::string suggestion(const std::vector<std::string>& args) const {
    const auto* sub = app_.get_subcommands().empty() ? nullptr : app_.get_subcommands().front();
    std::vector<std::string> known;
    if (sub == nullptr) {
      for (const auto* one : app_.get_subcommands(nullptr)) known.push_back(one->get_name());
    } else {
      for (const auto* option : sub->get_options()) {
        for (const auto& name : option->get_lnames()) known.push_back("--" + name);
      }
    }
    for (const auto& arg : args) {
      const std::string found = nearest(arg.substr(0, arg.find('=')), known);
      if (sub != nullptr && found == arg.substr(0, arg.find('=')))
        return " It belongs behind the command: `cay " + sub->get_name() + " " + arg + "`.";
      if (!found.empty())
        return " Did you mean `" + (sub == nullptr ? "cay " : std::string()) + found + "`?";
    }
    return {};
  }

  Parsed explain(const CLI::ParseError& thrown) const {
    const auto* sub = app_.get_subcommands().empty() ? nullptr : app_.get_subcommands().front();
    const std::string name = sub == nullptr ? "cay" : "cay " + sub->get_name();
    if (thrown.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return {std::nullopt, kOk, sub == nullptr ? app_.help() : sub->help("cay"), {}};
    }
    std::string message = thrown.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&thrown) != nullptr) {
      const auto left = app_.remaining(true);
      const std::string what = left.empty() ? std::string("an argument") : "'" + left.front() + "'";
      message =
          sub == nullptr ? "there is no command " + what + "." : what + " is not expected here.";
      message += suggestion(left);
      if (takes_a_program(sub) && !line_.has_dashes) {
        message += " Put `--` before the command to be run.";
      }
    }
    if (dynamic_cast<const CLI::ConversionError*>(&thrown) != nullptr) {
      // "Could not convert: --offset = x": all values that CLI11 itself converts are whole numbers.
      const std::string asked = message.substr(std::min(message.find(": ") + 2, message.size()));
      message =
          asked.substr(0, asked.find(" = ")) + ": must be a whole number that is not negative";
    }
    return {std::nullopt, kOurFailure, {}, "cay: " + message + "\nSee `" + name + " --help`.\n"};
  }

  // `sub` may be null.
  bool takes_a_program(const CLI::App* sub) const {
    return std::ranges::any_of(commands_, [&](const Command& one) {
      return sub != nullptr && one.name == sub->get_name() && one.takes_a_program;
    });
  }

  CLI::App app_;
  const std::vector<Command> commands_;
  Line line_;
  const Command* chosen_ = nullptr;
};

}  // namespace

Parsed parse(const std::vector<std::string>& args, const std::vector<Hook>& hooks,
             std::vector<Command> commands) {
  return Parser(hooks, std::move(commands)).parse(args);
}

}  // namespace cay::cli
