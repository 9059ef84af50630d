// A Dockerfile, a .dockerignore and a path, with a NUL byte between them. The first is parsed,
// planned and gone through, the second decides about the third.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/ignore.h"
#include "dockerfile/paths.h"
#include "dockerfile/scope.h"

namespace {

using namespace cay;
using namespace cay::dockerfile;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view next_part(std::string_view& rest) {
  const std::string_view out = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(rest.size(), out.size() + 1));
  return out;
}

bool leaves_root(std::string_view path) { return path == ".." || path.starts_with("../"); }

void check_step(const Step& step) {
  if (const auto* run = std::get_if<RunStep>(&step)) {
    require(!run->argv.empty() && run->workdir.starts_with('/'));
    require(run->mounts.size() == run->sources.size());
    for (const auto& mount : run->mounts) {
      require(mount.target.empty() || (mount.target.starts_with('/') && mount.target.size() > 1));
      require(clean_path(mount.target) == mount.target || mount.target.empty());
    }
  }
  if (const auto* copy = std::get_if<CopyStep>(&step)) {
    require(copy->target.starts_with('/') && clean_path(copy->target) == copy->target);
    for (const auto& path : copy->paths) {
      require(!path.starts_with('/') && !leaves_root(path) && clean_path(path) == path);
    }
    for (const auto& file : copy->files) {
      require(file.name.find('/') == std::string::npos && !leaves_root(file.name));
    }
  }
  if (const auto* directory = std::get_if<DirectoryStep>(&step)) {
    require(clean_path(directory->path) == directory->path && directory->path.starts_with('/'));
  }
  const std::vector<std::string> digests(contents_of(step).size(), "d");
  const std::string key = key_after("k", step, digests);
  require(key == key_after("k", step, digests));
  require(key != key_after("l", step, digests));
}

void build(const Dockerfile& file) {
  const BuildOptions options{.target = "", .arguments = {{"GIVEN", "a b"}, {"http_proxy", "p"}}};
  const auto planned = plan(file, options);
  if (!planned) return;
  require(!planned->stages.empty() && planned->stages.back().stage == file.stages.size() - 1);
  std::vector<bool> built(file.stages.size());
  for (const auto& one : planned->stages) {
    for (const std::size_t need : one.needs) require(built[need]);
    built[one.stage] = true;
    ImageConfig base;
    base.run.env["BASE"] = "x";
    StageScope scope(file, *planned, options, base, {});
    for (const auto& instruction : file.stages[one.stage].instructions) {
      const auto step = scope.next(instruction);
      if (!step) {
        require(step.error().message.starts_with("line " + std::to_string(instruction.line) + ":"));
        break;
      }
      check_step(*step);
    }
  }
}

void read_dockerfile(std::string_view text) {
  const auto file = parse(text);
  if (!file) {
    require(file.error().message.starts_with("line "));
    return;
  }
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  int last = 0;
  for (const auto& stage : file->stages) {
    require(stage.line > last && stage.line <= lines);
    last = stage.line;
    for (const auto& one : stage.instructions) {
      require(one.line > last && one.line <= lines);
      last = one.line;
    }
  }
  build(*file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  read_dockerfile(next_part(rest));
  const auto ignore = IgnoreList::parse(next_part(rest));
  const std::string path = path_below_root(next_part(rest));
  if (!ignore || path == ".") return 0;
  // Nobody reads an ignored directory in which nothing is kept.
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string above = path.substr(0, end);
    if (ignore->ignores(above) && !ignore->may_keep_below(above)) require(ignore->ignores(path));
  }
  return 0;
}
