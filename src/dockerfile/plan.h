// The stages that a build needs, in their order.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.h"

namespace cay::dockerfile {

using Variables = std::map<std::string, std::string, std::less<>>;

struct BuildOptions {
  std::string target{};                 // a stage by name or number; empty: the last one
  Variables arguments{};                // --build-arg
  std::string platform{"linux/amd64"};  // the builder's: the only one that it builds for
};

// The origin of files.
struct Source {
  enum class Kind : std::uint8_t { kNothing, kContext, kStage, kImage };
  Kind kind = Kind::kNothing;
  std::size_t stage = 0;  // kStage: its place in Dockerfile::stages
  std::string image{};    // kImage: as the Dockerfile names it
  bool operator==(const Source&) const = default;
};

struct PlannedStage {
  std::size_t stage = 0;
  Source base{};                     // FROM: a stage, an image, or nothing ("scratch")
  std::vector<std::size_t> needs{};  // the stages that it starts from, copies from or mounts
};

struct BuildPlan {
  std::vector<PlannedStage> stages{};  // each after those that it needs; the last is the target
  Variables arguments{};               // the ARGs before the first FROM, with their values
  std::vector<std::string> notes{};
};

// Returns the stages to build. Fails with kInvalidArgument (invalid_dockerfile) if the target does
// not exist, or if stages need each other in a circle. Fails with kUnsupported
// (dockerfile_unsupported) for another platform.
Result<BuildPlan> plan(const Dockerfile& file, const BuildOptions& options);

// Returns what `--from=` names: a stage by name, a stage by number, or an image.
Result<Source> source_of(const Dockerfile& file, std::string_view from, int line);

// Returns the variables that every build has: TARGETPLATFORM, BUILDPLATFORM and their parts.
Variables platform_variables(std::string_view platform);

// Whether a variable reaches RUN without an ARG, and changes no key: HTTP_PROXY and its kind.
bool is_proxy_variable(std::string_view name);

}  // namespace cay::dockerfile
