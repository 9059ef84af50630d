#include "dockerfile/plan.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/ascii.h"
#include "dockerfile/expand.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

std::optional<std::size_t> stage_named(const Dockerfile& file, std::string_view name) {
  const std::string wanted = lowered(name);
  for (std::size_t i = 0; i < file.stages.size(); ++i) {
    if (!wanted.empty() && file.stages[i].name == wanted) return i;
  }
  return std::nullopt;
}

// A number of digits alone.
std::optional<std::size_t> index_of(std::string_view text) {
  std::size_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// "linux/x86_64" is "linux/amd64".
std::string normal_platform(std::string_view text) {
  std::string out = lowered(text);
  if (out.find('/') == std::string::npos && out != "linux") out = "linux/" + out;
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"/x86_64", "/amd64"},
                                 {"/x86-64", "/amd64"},
                                 {"/aarch64", "/arm64"},
                                 {"/arm64/v8", "/arm64"}}) {
    if (out.ends_with(from)) out.replace(out.size() - from.size(), from.size(), to);
  }
  return out;
}

class Planner {
 public:
  Planner(const Dockerfile& file, const BuildOptions& options) : file_(file), options_(options) {}
  Result<BuildPlan> plan();

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };

  Result<void> read_arguments();
  Result<std::size_t> target() const;
  // Adds a stage after the ones that it needs.
  Result<void> visit(std::size_t stage);
  Result<PlannedStage> planned(std::size_t stage) const;
  Result<Source> base_of(std::size_t stage) const;
  Result<void> check_platform(const Stage& stage) const;
  void note_unused();
  Lookup lookup() const {
    return [this](std::string_view name) -> const std::string* {
      if (const auto found = out_.arguments.find(name); found != out_.arguments.end()) {
        return &found->second;
      }
      const auto found = platform_.find(name);
      return found == platform_.end() ? nullptr : &found->second;
    };
  }

  const Dockerfile& file_;
  const BuildOptions& options_;
  Variables platform_{};
  std::vector<State> states_{};
  BuildPlan out_{};
};

Result<void> Planner::read_arguments() {
  platform_ = platform_variables(options_.platform);
  for (const auto& instruction : file_.arguments) {
    for (const auto& one : std::get<Arg>(instruction.meaning).arguments) {
      if (const auto given = options_.arguments.find(one.name); given != options_.arguments.end()) {
        out_.arguments[one.name] = given->second;
      } else if (one.value) {
        auto value = expand_word(*one.value, lookup(), file_.escape);
        if (!value) return wrong_at(instruction.line, value.error().message);
        out_.arguments[one.name] = *std::move(value);
      }
    }
  }
  return {};
}

Result<std::size_t> Planner::target() const {
  if (file_.stages.empty()) return wrong_at(1, "there is no FROM");
  if (options_.target.empty()) return file_.stages.size() - 1;
  if (const auto named = stage_named(file_, options_.target)) return *named;
  const auto index = index_of(options_.target);
  if (index && *index < file_.stages.size()) return *index;
  std::string names;
  for (const auto& stage : file_.stages) {
    if (!stage.name.empty()) names += (names.empty() ? "" : ", ") + stage.name;
  }
  return Error{Code::kInvalidArgument, "invalid_dockerfile",
               "there is no stage " + shown(options_.target) + " to build" +
                   (names.empty() ? "" : ". There are " + names),
               0};
}

Result<void> Planner::check_platform(const Stage& stage) const {
  if (stage.platform.empty()) return {};
  auto platform = expand_word(stage.platform, lookup(), file_.escape);
  if (!platform) return wrong_at(stage.line, platform.error().message);
  if (normal_platform(*platform) == normal_platform(options_.platform)) return {};
  return refused_at(stage.line, "FROM --platform=" + shown(*platform) +
                                    " is not supported: this is " + options_.platform +
                                    ", and Cay emulates no other");
}

Result<Source> Planner::base_of(std::size_t index) const {
  const Stage& stage = file_.stages[index];
  auto image = expand_word(stage.image, lookup(), file_.escape);
  if (!image) return wrong_at(stage.line, image.error().message);
  if (image->empty() || image->find_first_of(" \t\n") != std::string::npos) {
    return wrong_at(stage.line, "'" + shown(stage.image) + "' is '" + shown(*image) +
                                    "', which is no image. Give its ARG a default, or --build-arg");
  }
  const auto named = stage_named(file_, *image);
  if (named && *named < index) return Source{Source::Kind::kStage, *named};
  if (*image == "scratch") return Source{Source::Kind::kNothing};
  return Source{Source::Kind::kImage, 0, *std::move(image)};
}

Result<PlannedStage> Planner::planned(std::size_t index) const {
  const Stage& stage = file_.stages[index];
  CAY_CHECK(check_platform(stage));
  PlannedStage out{index};
  CAY_TRY(out.base, base_of(index));
  std::set<std::size_t> needs;
  if (out.base.kind == Source::Kind::kStage) needs.insert(out.base.stage);
  for (const auto& one : stage.instructions) {
    std::vector<std::string_view> from;
    if (const auto* copy = std::get_if<Copy>(&one.meaning)) from.push_back(copy->from);
    if (const auto* run = std::get_if<Run>(&one.meaning)) {
      for (const auto& mount : run->mounts) from.push_back(mount.from);
    }
    for (const auto name : from) {
      if (name.empty()) continue;
      CAY_TRY(const Source source, source_of(file_, name, one.line));
      if (source.kind == Source::Kind::kStage) needs.insert(source.stage);
    }
  }
  out.needs.assign(needs.begin(), needs.end());
  return out;
}

// A list instead of recursion: a file may have a thousand stages on each other.
Result<void> Planner::visit(std::size_t first) {
  std::vector<PlannedStage> open;
  std::vector<std::size_t> next;  // for each of `open`: which need comes next
  const auto enter = [&](std::size_t stage) -> Result<void> {
    CAY_TRY(PlannedStage one, planned(stage));
    states_[stage] = State::kOpen;
    open.push_back(std::move(one));
    next.push_back(0);
    return {};
  };
  CAY_CHECK(enter(first));
  while (!open.empty()) {
    if (next.back() == open.back().needs.size()) {
      states_[open.back().stage] = State::kDone;
      out_.stages.push_back(std::move(open.back()));
      open.pop_back();
      next.pop_back();
      continue;
    }
    const std::size_t need = open.back().needs[next.back()++];
    if (states_[need] == State::kOpen) {
      return wrong_at(file_.stages[open.back().stage].line,
                      "this stage and the one of line " + std::to_string(file_.stages[need].line) +
                          " need each other in a circle");
    }
    if (states_[need] == State::kNew) {
      CAY_CHECK(enter(need));
    }
  }
  return {};
}

void Planner::note_unused() {
  std::set<std::string> declared;
  const auto collect = [&declared](const std::vector<Instruction>& instructions) {
    for (const auto& instruction : instructions) {
      const auto* arg = std::get_if<Arg>(&instruction.meaning);
      if (arg == nullptr) continue;
      for (const auto& one : arg->arguments) declared.insert(one.name);
    }
  };
  collect(file_.arguments);
  for (const auto& stage : file_.stages) collect(stage.instructions);
  for (const auto& [name, value] : options_.arguments) {
    if (!declared.contains(name) && !is_proxy_variable(name)) {
      out_.notes.push_back("the build argument " + shown(name) + " is not used: no ARG names it");
    }
  }
}

Result<BuildPlan> Planner::plan() {
  CAY_CHECK(read_arguments());
  CAY_TRY(const std::size_t last, target());
  states_.assign(file_.stages.size(), State::kNew);
  CAY_CHECK(visit(last));
  note_unused();
  return std::move(out_);
}

}  // namespace

Result<BuildPlan> plan(const Dockerfile& file, const BuildOptions& options) {
  return Planner(file, options).plan();
}

Result<Source> source_of(const Dockerfile& file, std::string_view from, int line) {
  if (const auto named = stage_named(file, from)) return Source{Source::Kind::kStage, *named};
  const auto index = index_of(from);
  if (!index) return Source{Source::Kind::kImage, 0, std::string(from)};
  if (*index < file.stages.size()) return Source{Source::Kind::kStage, *index};
  return wrong_at(line, "there is no stage " + shown(from) + ": the first is 0");
}

Variables platform_variables(std::string_view platform) {
  const std::string normal = normal_platform(platform);
  Variables out;
  for (const std::string prefix : {"BUILD", "TARGET"}) {
    const std::size_t slash = normal.find('/');
    const std::string rest = slash == std::string::npos ? "" : normal.substr(slash + 1);
    const std::size_t second = rest.find('/');
    out[prefix + "PLATFORM"] = normal;
    out[prefix + "OS"] = normal.substr(0, slash);
    out[prefix + "ARCH"] = rest.substr(0, second);
    out[prefix + "VARIANT"] = second == std::string::npos ? "" : rest.substr(second + 1);
  }
  return out;
}

bool is_proxy_variable(std::string_view name) {
  static constexpr std::string_view kProxies[] = {
      "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY",
      "http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"};
  return std::ranges::find(kProxies, name) != std::end(kProxies);
}

}  // namespace cay::dockerfile
