#include "dockerfile/instructions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "dockerfile/expand.h"
#include "dockerfile/text.h"
#include "dockerfile/words.h"

namespace cay::dockerfile {
namespace {

Error needs(const Item& item, std::string_view what) {
  return wrong_at(item.line, item.keyword + " needs " + std::string(what));
}

struct Flag {
  std::string_view name;
  std::optional<std::string_view> value;
};

Flag flag_of(std::string_view word) {
  word.remove_prefix(2);
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

Error unknown_flag(const Item& item, const Flag& flag) {
  return wrong_at(item.line, item.keyword + " has no option --" + shown(flag.name));
}

Error refused_flag(const Item& item, const Flag& flag, std::string_view remedy) {
  return refused_at(item.line, item.keyword + " --" + std::string(flag.name) +
                                   " is not supported: " + std::string(remedy));
}

Result<void> no_flags(const Item& item) {
  if (item.flags.empty()) return {};
  return unknown_flag(item, flag_of(item.flags.front()));
}

Result<CommandLine> command_of(const Item& item) {
  JsonArray found = json_array(item.rest);
  switch (found.is) {
    case JsonArray::Is::kStrings: return CommandLine{false, std::move(found.strings)};
    case JsonArray::Is::kOther:
      return wrong_at(item.line, "an array of " + item.keyword + " may have strings only");
    case JsonArray::Is::kNoJson: break;
  }
  if (item.rest.starts_with('[') && item.rest.ends_with(']') &&
      item.rest.find('\'') != std::string_view::npos) {
    item.notes->push_back("line " + std::to_string(item.line) + ": " + item.keyword +
                          " has an array with single quotes, so the shell runs it as it is."
                          " Write \"…\" for the exec form");
  }
  return CommandLine{true, {std::string(item.rest)}};
}

Result<Meaning> read_run(Item& item) {
  Run out;
  for (const auto& word : item.flags) {
    const Flag flag = flag_of(word);
    if (flag.name == "mount" && flag.value) {
      CAY_TRY(Mount mount, mount_of(item.line, *flag.value));
      out.mounts.push_back(std::move(mount));
    } else if (flag.name == "network") {
      return refused_flag(item, flag, "the policy of the build decides what RUN may reach");
    } else if (flag.name == "security") {
      return refused_flag(item, flag, "every RUN is contained in the same way");
    } else if (flag.name == "device") {
      return refused_flag(item, flag, "a sandbox has no devices of the host");
    } else {
      return unknown_flag(item, flag);
    }
  }
  CAY_TRY(out.command, command_of(item));
  if (out.command.words.empty() || out.command.words.front().empty()) {
    return needs(item, "a command");
  }
  out.heredocs = std::move(item.heredocs);
  return Meaning(std::move(out));
}

Result<bool> switch_of(const Item& item, const Flag& flag) {
  if (!flag.value || *flag.value == "true") return true;
  if (*flag.value == "false") return false;
  return wrong_at(item.line, "--" + std::string(flag.name) + " can be true or false, not " +
                                 shown(*flag.value));
}

Result<void> read_copy_flag(const Item& item, const Flag& flag, Copy& out) {
  if (flag.name == "link") {
    CAY_TRY(out.link, switch_of(item, flag));
    return {};
  }
  if (flag.name == "parents" || flag.name == "exclude") {
    return refused_flag(item, flag, "name the files, or use .dockerignore");
  }
  if (out.add && (flag.name == "checksum" || flag.name == "keep-git-dir")) {
    return refused_flag(item, flag, "ADD takes files of the context only. Use RUN to fetch others");
  }
  if (out.add && flag.name == "unpack") {
    return refused_flag(item, flag, "use COPY for an archive that should stay packed");
  }
  std::string* to = flag.name == "chown"              ? &out.chown
                    : flag.name == "chmod"            ? &out.chmod
                    : flag.name == "from" && !out.add ? &out.from
                                                      : nullptr;
  if (to == nullptr) return unknown_flag(item, flag);
  if (!flag.value || flag.value->empty()) {
    return needs(item, "a value for --" + std::string(flag.name));
  }
  if (!to->empty()) return wrong_at(item.line, "--" + std::string(flag.name) + " is there twice");
  *to = *flag.value;
  return {};
}

Result<Meaning> read_copy(Item& item) {
  Copy out;
  out.add = item.keyword == "ADD";
  for (const auto& word : item.flags) {
    CAY_CHECK(read_copy_flag(item, flag_of(word), out));
  }
  if (out.from.find('$') != std::string::npos) {
    return refused_at(item.line,
                      "COPY --from takes no variable: name a stage with FROM, and copy from that");
  }
  JsonArray array = json_array(item.rest);
  if (array.is == JsonArray::Is::kOther) {
    return wrong_at(item.line, "an array of " + item.keyword + " may have strings only");
  }
  std::vector<std::string> words =
      array.is == JsonArray::Is::kStrings ? std::move(array.strings) : plain_words(item.rest);
  if (words.size() < 2) return needs(item, "a source and a target");
  out.target = std::move(words.back());
  words.pop_back();
  if (out.target.empty()) return needs(item, "a target that is not empty");
  std::size_t used = 0;
  for (auto& word : words) {
    const auto found = heredoc_of(word, item.escape);
    if (found && used < item.heredocs.size() && item.heredocs[used].name == found->name) {
      out.files.push_back(std::move(item.heredocs[used++]));
    } else if (word.empty()) {
      return needs(item, "sources that are not empty");
    } else {
      out.sources.push_back(std::move(word));
    }
  }
  if (used < item.heredocs.size()) {
    return wrong_at(item.line, "a here-document can be a source, and nothing else");
  }
  if (!out.files.empty() && !out.from.empty()) {
    return wrong_at(item.line, "a here-document is no file of --from=" + shown(out.from));
  }
  return Meaning(std::move(out));
}

// `name=value …`, or the older `name value`.
Result<std::vector<Assignment>> assignments_of(const Item& item) {
  CAY_CHECK(no_flags(item));
  const auto words = quoted_words(item.rest, item.escape).words;
  if (words.empty()) return needs(item, "a name and a value");
  std::vector<Assignment> out;
  if (words.front().find('=') == std::string::npos) {
    const std::size_t end = std::min(item.rest.find_first_of(kBlanks), item.rest.size());
    const auto value = trimmed(item.rest.substr(end), kBlanks);
    if (value.empty()) return needs(item, "a name and a value");
    out.push_back({std::string(item.rest.substr(0, end)), std::string(value)});
    return out;
  }
  for (const auto& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return wrong_at(item.line, "'" + shown(word) + "' has no =: " + item.keyword +
                                     " takes name=value. Quote a value with blanks");
    }
    if (equals == 0) return needs(item, "a name before each =");
    out.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return out;
}

Result<Meaning> read_env(Item& item) {
  CAY_TRY(auto set, assignments_of(item));
  return Meaning(Env{std::move(set)});
}

Result<Meaning> read_label(Item& item) {
  CAY_TRY(auto set, assignments_of(item));
  return Meaning(Label{std::move(set)});
}

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

Result<Meaning> read_arg(Item& item) {
  CAY_CHECK(no_flags(item));
  Arg out;
  for (const auto& word : quoted_words(item.rest, item.escape).words) {
    const std::size_t equals = word.find('=');
    Argument one{word.substr(0, equals), std::nullopt};
    if (equals != std::string::npos) one.value = word.substr(equals + 1);
    if (!is_name(one.name)) return wrong_at(item.line, "'" + shown(word) + "' is no name for ARG");
    out.arguments.push_back(std::move(one));
  }
  if (out.arguments.empty()) return needs(item, "a name");
  return Meaning(std::move(out));
}

Result<Meaning> read_one_text(Item& item) {
  CAY_CHECK(no_flags(item));
  if (item.rest.empty()) return needs(item, item.keyword == "USER" ? "a name" : "a path");
  if (item.keyword == "USER") return Meaning(User{std::string(item.rest)});
  return Meaning(Workdir{std::string(item.rest)});
}

Result<Meaning> read_shell(Item& item) {
  CAY_CHECK(no_flags(item));
  JsonArray found = json_array(item.rest);
  if (found.is != JsonArray::Is::kStrings || found.strings.empty()) {
    return needs(item, "an array: SHELL [\"/bin/bash\", \"-c\"]");
  }
  return Meaning(Shell{std::move(found.strings)});
}

Result<Meaning> read_expose(Item& item) {
  CAY_CHECK(no_flags(item));
  Expose out{plain_words(item.rest)};
  if (out.ports.empty()) return needs(item, "a port");
  return Meaning(std::move(out));
}

Result<Meaning> read_start(Item& item) {
  CAY_CHECK(no_flags(item));
  if (item.rest.empty()) return needs(item, "a command");
  CAY_TRY(CommandLine command, command_of(item));
  if (item.keyword == "CMD") return Meaning(Cmd{std::move(command)});
  return Meaning(Entrypoint{std::move(command)});
}

Result<Meaning> read_ignored(Item& item) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kWhy{{
      {"HEALTHCHECK", "a sandbox reports its own state"},
      {"MAINTAINER", "use LABEL org.opencontainers.image.authors"},
      {"STOPSIGNAL", "a sandbox ends its programs itself"},
      {"VOLUME", "the directory is part of the sandbox's disk"},
  }};
  if (item.rest.empty()) return needs(item, "a value");
  if (item.keyword != "HEALTHCHECK") {
    CAY_CHECK(no_flags(item));
  }
  for (const auto& [keyword, why] : kWhy) {
    if (keyword == item.keyword) {
      item.notes->push_back("line " + std::to_string(item.line) + ": " + item.keyword +
                            " is ignored: " + std::string(why));
    }
  }
  return Meaning(Ignored{item.keyword});
}

Result<Meaning> refuse_onbuild(Item& item) {
  return refused_at(item.line,
                    "ONBUILD is not supported: write its instruction into the Dockerfile that"
                    " starts from this image");
}

using Reader = Result<Meaning> (*)(Item&);
constexpr std::array<std::pair<std::string_view, Reader>, 17> kReaders{{
    {"ADD", read_copy},
    {"ARG", read_arg},
    {"CMD", read_start},
    {"COPY", read_copy},
    {"ENTRYPOINT", read_start},
    {"ENV", read_env},
    {"EXPOSE", read_expose},
    {"HEALTHCHECK", read_ignored},
    {"LABEL", read_label},
    {"MAINTAINER", read_ignored},
    {"ONBUILD", refuse_onbuild},
    {"RUN", read_run},
    {"SHELL", read_shell},
    {"STOPSIGNAL", read_ignored},
    {"USER", read_one_text},
    {"VOLUME", read_ignored},
    {"WORKDIR", read_one_text},
}};

bool is_stage_name(std::string_view name) {
  return is_letter(name.front()) && std::ranges::all_of(name, [](char c) {
           return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

std::optional<Heredoc> heredoc_of(std::string_view word, char escape) {
  while (!word.empty() && is_digit(word.front())) word.remove_prefix(1);  // a file descriptor
  if (!word.starts_with("<<")) return std::nullopt;
  word.remove_prefix(2);
  Heredoc out;
  if (word.starts_with('-')) {
    out.strips_tabs = true;
    word.remove_prefix(1);
  }
  if (word.empty() || word.find('<') != std::string_view::npos) return std::nullopt;
  if (quoted_words(word, escape).words.size() != 1) return std::nullopt;
  auto name = unquoted(word, escape);
  if (!name || name->empty() || name->find_first_of("\n\r") != std::string::npos) {
    return std::nullopt;
  }
  out.expands = *name == word;
  out.name = *std::move(name);
  return out;
}

Result<Meaning> meaning_of(Item& item) {
  for (const auto& [keyword, reader] : kReaders) {
    if (keyword == item.keyword) return reader(item);
  }
  return wrong_at(item.line, "there is no instruction " + shown(item.keyword));
}

Result<Stage> stage_of(const Item& item) {
  Stage out;
  out.line = item.line;
  for (const auto& word : item.flags) {
    const Flag flag = flag_of(word);
    if (flag.name != "platform" || !flag.value || flag.value->empty()) {
      return unknown_flag(item, flag);
    }
    out.platform = *flag.value;
  }
  const auto words = plain_words(item.rest);
  const bool named = words.size() == 3 && equals_ignoring_case(words[1], "as");
  if (words.size() != 1 && !named)
    return needs(item, "an image: FROM image, or FROM image AS name");
  out.image = words.front();
  if (!named) return out;
  if (!is_stage_name(words[2])) {
    return wrong_at(item.line, "'" + shown(words[2]) +
                                   "' is no name for a stage: use letters, digits, - _ and .");
  }
  out.name = lowered(words[2]);
  return out;
}

}  // namespace cay::dockerfile
