#include "cli/completion.h"

#include <memory>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string bash(const std::vector<CompletionWord>& words) {
  std::string commands, cases;
  for (const auto& word : words) {
    commands += (commands.empty() ? "" : " ") + word.command;
    cases += "    " + word.command + ") words=\"" + joined(word.options) +
             "\"; names=" + (word.takes_sandbox || word.command == "cp" ? "1" : "") +
             "; snapshots=" + (word.takes_snapshot ? "1" : "") + "; actions=\"" +
             joined(word.actions) + "\" ;;\n";
  }
  return "# bash completion for cay\n"
         "_cay() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} words names= snapshots= actions=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         commands +
         "\" -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  case $cur in\n"
         "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
         "    *) if [ -n \"$actions\" ] && [ \"$COMP_CWORD\" = 2 ]; then\n"
         "         COMPREPLY=($(compgen -W \"$actions\" -- \"$cur\"))\n"
         "       elif [ -n \"$snapshots\" ]; then\n"
         "         COMPREPLY=($(compgen -W \"$(cay snapshot ls -q 2>/dev/null)\" -- \"$cur\"))\n"
         "       elif [ -n \"$names\" ]; then\n"
         "         COMPREPLY=($(compgen -W \"$(cay ls -q 2>/dev/null)\" -- \"$cur\"))\n"
         "       fi ;;\n"
         "  esac\n"
         "}\n"
         "complete -o default -F _cay cay\n";
}

std::string zsh(const std::vector<CompletionWord>& words) {
  std::string commands, cases;
  for (const auto& word : words) {
    commands += "    " + shell_quoted(word.command + ":" + word.help) + "\n";
    cases += "    " + word.command + ") words_=(" + joined(word.options) +
             "); names=" + (word.takes_sandbox || word.command == "cp" ? "1" : "0") +
             "; snapshots=" + (word.takes_snapshot ? "1" : "0") + "; actions=(" +
             joined(word.actions) + ") ;;\n";
  }
  return "#compdef cay\n"
         "_cay() {\n"
         "  local -a commands words_ actions\n"
         "  local names=0 snapshots=0\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  case ${words[2]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then compadd -a words_; return; fi\n"
         "  if (( $#actions && CURRENT == 3 )); then compadd -a actions; return; fi\n"
         "  (( snapshots )) && compadd -- ${(f)\"$(cay snapshot ls -q 2>/dev/null)\"}\n"
         "  (( names )) && compadd -- ${(f)\"$(cay ls -q 2>/dev/null)\"}\n"
         "  _files\n"
         "}\n"
         "_cay \"$@\"\n";
}

std::string fish(const std::vector<CompletionWord>& words) {
  std::string out = "# fish completion for cay\n";
  for (const auto& word : words) {
    out += "complete -c cay -n __fish_use_subcommand -a " + word.command + " -d " +
           shell_quoted(word.help) + "\n";
    const std::string when =
        "complete -c cay -n '__fish_seen_subcommand_from " + word.command + "' ";
    for (const auto& option : word.options) out += when + "-l " + option.substr(2) + "\n";
    for (const auto& action : word.actions) out += when + "-a " + action + "\n";
    if (word.takes_snapshot) out += when + "-a '(cay snapshot ls -q 2>/dev/null)'\n";
    if (word.takes_sandbox) out += when + "-a '(cay ls -q 2>/dev/null)'\n";
  }
  return out;
}

}  // namespace

namespace {

int completion_command(Context& /*at*/, const CompletionArgs& args) {
  print(args.script);
  return kOk;
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<CompletionWord>& words) {
  if (shell == "zsh") return zsh(words);
  if (shell == "fish") return fish(words);
  return bash(words);
}

Command completion_entry() {
  const auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .help = "Print a completion script for a shell",
          .examples =
              "  cay completion bash > /etc/bash_completion.d/cay\n"
              "  cay completion zsh > \"${fpath[1]}/_cay\"\n"
              "  cay completion fish > ~/.config/fish/completions/cay.fish\n",
          .group = kHostGroup,
          .options =
              [shell](Options& to) {
                to.choice("SHELL", *shell, {"bash", "zsh", "fish"}, "bash, zsh or fish",
                          Options::Need::kRequired);
              },
          .args = [shell](const Line& line) -> std::any {
            return CompletionArgs{completion_script(*shell, line.commands())};
          },
          .run = runs(completion_command)};
}

}  // namespace cay::cli
