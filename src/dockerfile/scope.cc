#include "dockerfile/scope.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/sha256.h"
#include "dockerfile/paths.h"
#include "dockerfile/text.h"
#include "dockerfile/words.h"

namespace cay::dockerfile {
namespace {

constexpr std::size_t kMostVariables = std::size_t{1} << 20U;  // bytes, of names and values

Error no_line(std::string what) {
  return Error{Code::kInvalidArgument, "invalid_dockerfile", std::move(what), 0};
}

// An error of an instruction gets its line. One that has a line already keeps it.
Error with_line(int line, Error error) {
  if (!error.message.starts_with("line ")) {
    error.message = "line " + std::to_string(line) + ": " + error.message;
  }
  return error;
}

Result<std::optional<std::uint32_t>> mode_of(std::string_view text) {
  if (text.empty()) return std::optional<std::uint32_t>();
  std::uint32_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out, 8);
  if (failed != std::errc() || end != text.data() + text.size() || out > 07777) {
    return no_line("--chmod takes a number such as 755, not " + shown(text));
  }
  return std::optional<std::uint32_t>(out);
}

bool is_remote(std::string_view source) {
  const std::string small = lowered(source.substr(0, 16));
  for (const std::string_view one : {"http://", "https://", "git@", "git://", "ssh://", "ftp://"}) {
    if (small.starts_with(one)) return true;
  }
  return false;
}

// Text of many fields that can be read in one way only.
class KeyText {
 public:
  KeyText& add(std::string_view field) {
    text_ += std::to_string(field.size());
    text_ += ':';
    text_ += field;
    return *this;
  }
  KeyText& add(std::uint64_t number) { return add(std::to_string(number)); }
  template <class List>
  KeyText& add_all(const List& list) {
    add(list.size());
    for (const auto& one : list) add(one);
    return *this;
  }
  KeyText& add_all(const std::map<std::string, std::string>& map) {
    add(map.size());
    for (const auto& [name, value] : map) add(name).add(value);
    return *this;
  }
  KeyText& add(const Mount& mount) {
    add(static_cast<std::uint64_t>(mount.type)).add(mount.target).add(mount.source).add(mount.id);
    add(mount.env).add(std::uint64_t{mount.read_only}).add(mount.size);
    add(mount.uid.value_or(0)).add(mount.gid.value_or(0));
    return add(mount.mode ? std::uint64_t{*mount.mode} + 1 : 0);
  }
  KeyText& add(const Heredoc& file) { return add(file.name).add(file.content); }
  std::string digest() const { return sha256_hex(text_); }

 private:
  std::string text_;
};

void add_step(KeyText& text, const RunStep& step) {
  text.add("run").add_all(step.argv).add(step.script).add_all(step.env).add(step.user);
  text.add(step.workdir).add_all(step.mounts);
}

void add_step(KeyText& text, const CopyStep& step) {
  text.add("copy").add_all(step.paths).add_all(step.files).add(step.target);
  text.add(std::uint64_t{step.into_directory}).add(std::uint64_t{step.unpack}).add(step.chown);
  text.add(step.chmod ? std::uint64_t{*step.chmod} + 1 : 0);
}

void add_step(KeyText& text, const DirectoryStep& step) {
  text.add("directory").add(step.path).add(step.user);
}

void add_step(KeyText& text, const std::monostate& /*changes no file*/) { text.add("nothing"); }

}  // namespace

std::vector<Contents> contents_of(const Step& step) {
  std::vector<Contents> out;
  if (const auto* copy = std::get_if<CopyStep>(&step); copy != nullptr && !copy->paths.empty()) {
    out.push_back({copy->from, copy->paths});
  }
  if (const auto* run = std::get_if<RunStep>(&step)) {
    for (std::size_t i = 0; i < run->mounts.size(); ++i) {
      // The content of a cache changes no key.
      if (run->mounts[i].type != MountType::kBind) continue;
      out.push_back({run->sources[i], {path_below_root(run->mounts[i].source)}});
    }
  }
  return out;
}

std::string key_after(std::string_view below, const Step& step,
                      const std::vector<std::string>& digests) {
  KeyText text;
  text.add("cay-build-1").add(below).add_all(digests);
  std::visit([&text](const auto& one) { add_step(text, one); }, step);
  return text.digest();
}

StageScope::StageScope(const Dockerfile& file, const BuildPlan& plan, const BuildOptions& options,
                       ImageConfig base, Variables inherited)
    : file_(file), plan_(plan), options_(options), arguments_(std::move(inherited)) {
  config_.image = std::move(base);
  config_.image.run.env.try_emplace("PATH", kDefaultPath);
}

Lookup StageScope::lookup() const {
  // ENV hides an ARG of the same name.
  return [this](std::string_view name) -> const std::string* {
    const auto& env = config_.image.run.env;
    if (const auto found = env.find(std::string(name)); found != env.end()) return &found->second;
    const auto found = arguments_.find(name);
    return found == arguments_.end() ? nullptr : &found->second;
  };
}

Result<std::string> StageScope::word(std::string_view text) const {
  return expand_word(text, lookup(), file_.escape);
}

Result<Meaning> StageScope::expanded(const Meaning& meaning) const {
  Meaning out = meaning;
  const auto expand_all = [this](std::vector<Assignment>& set) -> Result<void> {
    for (auto& one : set) {
      CAY_TRY(one.name, word(one.name));
      CAY_TRY(one.value, word(one.value));
    }
    return {};
  };
  if (auto* env = std::get_if<Env>(&out)) {
    CAY_CHECK(expand_all(env->set));
  }
  if (auto* label = std::get_if<Label>(&out)) {
    CAY_CHECK(expand_all(label->set));
  }
  if (auto* workdir = std::get_if<Workdir>(&out)) {
    CAY_TRY(workdir->path, word(workdir->path));
  }
  if (auto* user = std::get_if<User>(&out)) {
    CAY_TRY(user->name, word(user->name));
  }
  if (auto* expose = std::get_if<Expose>(&out)) {
    std::vector<std::string> ports;
    for (const auto& one : expose->ports) {
      CAY_TRY(auto words, expand_words(one, lookup(), file_.escape));
      ports.insert(ports.end(), words.begin(), words.end());
    }
    expose->ports = std::move(ports);
  }
  return out;
}

Result<void> StageScope::declare(const Arg& arg) {
  const Variables platform = platform_variables(options_.platform);
  for (const auto& one : arg.arguments) {
    if (const auto given = options_.arguments.find(one.name); given != options_.arguments.end()) {
      arguments_[one.name] = given->second;
    } else if (one.value) {
      CAY_TRY(std::string value, word(*one.value));
      arguments_[one.name] = std::move(value);
    } else if (const auto global = plan_.arguments.find(one.name);
               global != plan_.arguments.end()) {
      arguments_[one.name] = global->second;
    } else if (const auto known = platform.find(one.name); known != platform.end()) {
      arguments_[one.name] = known->second;
    }
  }
  return {};
}

Result<void> StageScope::check_size() const {
  std::size_t size = 0;
  for (const auto& [name, value] : arguments_) size += name.size() + value.size();
  for (const auto& [name, value] : config_.image.run.env) size += name.size() + value.size();
  for (const auto& [name, value] : config_.image.labels) size += name.size() + value.size();
  if (size <= kMostVariables) return {};
  return no_line("variables and labels have more than 1 MiB");
}

Result<Step> StageScope::run(const Instruction& instruction, const Run& run) const {
  RunStep out;
  CommandLine command = run.command;
  if (!run.heredocs.empty() &&
      quoted_words(command.words.front(), file_.escape).words.size() == 1) {
    const std::string content = text_of(run.heredocs.front());
    if (content.starts_with("#!")) {
      out.script = content;
      command = {false, {run.heredocs.front().name}};
    } else {
      command.words = {content};
    }
  } else {
    for (const auto& heredoc : run.heredocs) {
      command.words.front() += "\n" + heredoc.content + heredoc.name;
    }
  }
  out.argv = arguments_of(command, config_.shell);
  for (const auto& [name, value] : arguments_) {
    if (!is_proxy_variable(name)) out.env.insert_or_assign(name, value);
  }
  for (const auto& [name, value] : config_.image.run.env) out.env.insert_or_assign(name, value);
  for (const Variables* from : {&options_.arguments, &arguments_}) {
    for (const auto& [name, value] : *from) {
      if (is_proxy_variable(name) && !out.env.contains(name)) out.proxies[name] = value;
    }
  }
  out.user = config_.image.run.user.value_or("");
  out.workdir = workdir();
  for (Mount mount : run.mounts) {
    for (std::string* text : {&mount.target, &mount.source, &mount.id}) {
      CAY_TRY(*text, word(*text));
    }
    if (mount.type != MountType::kSecret || !mount.target.empty()) {
      mount.target = absolute_path(workdir(), mount.target);
    }
    if (mount.target == "/") return wrong_at(instruction.line, "--mount cannot cover /");
    Source source;
    if (!mount.from.empty()) {
      CAY_TRY(source, source_of(file_, mount.from, instruction.line));
    } else if (mount.type == MountType::kBind) {
      source.kind = Source::Kind::kContext;
    }
    out.mounts.push_back(std::move(mount));
    out.sources.push_back(std::move(source));
  }
  return Step(std::move(out));
}

Result<Step> StageScope::copy(const Instruction& instruction, const Copy& copy) const {
  CopyStep out;
  out.from.kind = Source::Kind::kContext;
  if (!copy.from.empty()) {
    CAY_TRY(out.from, source_of(file_, copy.from, instruction.line));
  }
  for (const auto& source : copy.sources) {
    CAY_TRY(const std::string path, word(source));
    if (path.empty()) return no_line("a source is empty: " + shown(source));
    if (copy.add && is_remote(path)) {
      return refused_at(instruction.line, "ADD of " + shown(path) +
                                              " is not supported: fetch it with RUN, so that the"
                                              " policy of the build applies");
    }
    out.paths.push_back(path_below_root(path));
  }
  for (const auto& file : copy.files) {
    Heredoc one{file.name, text_of(file)};
    if (file.expands) {
      CAY_TRY(one.content, expand_content(one.content, lookup()));
    }
    one.name = path_below_root(one.name.substr(one.name.rfind('/') + 1));
    if (one.name == ".") return no_line("a here-document needs the name of a file");
    out.files.push_back(std::move(one));
  }
  CAY_TRY(const std::string target, word(copy.target));
  if (target.empty()) return no_line("the target is empty: " + shown(copy.target));
  out.target = absolute_path(workdir(), target);
  out.into_directory = target.ends_with('/') || target.ends_with("/.") || target == "." ||
                       target == ".." || target.ends_with("/..") ||
                       out.paths.size() + out.files.size() > 1;
  CAY_TRY(out.chown, word(copy.chown));
  CAY_TRY(const std::string chmod, word(copy.chmod));
  CAY_TRY(out.chmod, mode_of(chmod));
  out.unpack = copy.add;
  return Step(std::move(out));
}

Result<Step> StageScope::next(const Instruction& instruction) {
  const auto step = [&]() -> Result<Step> {
    const Meaning& meaning = instruction.meaning;
    if (const auto* one = std::get_if<Run>(&meaning)) return run(instruction, *one);
    if (const auto* one = std::get_if<Copy>(&meaning)) return copy(instruction, *one);
    if (const auto* one = std::get_if<Arg>(&meaning)) {
      CAY_CHECK(declare(*one));
    } else {
      CAY_TRY(const Meaning exact, expanded(meaning));
      CAY_CHECK(apply(exact, config_));
    }
    CAY_CHECK(check_size());
    if (!std::holds_alternative<Workdir>(meaning)) return Step();
    return Step(DirectoryStep{workdir(), config_.image.run.user.value_or("")});
  };
  auto out = step();
  if (!out) return with_line(instruction.line, std::move(out).error());
  return out;
}

}  // namespace cay::dockerfile
