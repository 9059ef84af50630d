// StageScope: goes through the instructions of a stage, expands their variables, and returns what
// each changes in the files.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dockerfile/config.h"
#include "dockerfile/expand.h"
#include "dockerfile/plan.h"

namespace cay::dockerfile {

// A program to run.
struct RunStep {
  std::vector<std::string> argv;
  std::string script{};  // not empty: the host writes it to a file outside the layer, and the
                         // file's name becomes the program
  std::map<std::string, std::string> env{};
  std::map<std::string, std::string> proxies{};  // further variables, which change no key
  std::string user{};                            // empty: root
  std::string workdir{"/"};
  std::vector<Mount> mounts{};    // targets are absolute
  std::vector<Source> sources{};  // of each mount
};

// Files to copy into the layer.
struct CopyStep {
  Source from{};
  std::vector<std::string>
      paths{};                   // below the root of `from`, with wildcards as in Go's path.Match
  std::vector<Heredoc> files{};  // further files, with their final content
  std::string target{};          // absolute
  bool into_directory = false;   // the target is a directory
  std::string chown{};           // empty: 0:0
  std::optional<std::uint32_t> chmod{};  // empty: as they are
  bool unpack = false;                   // archives are unpacked
};

// A directory to make, with those above it, if it is not there.
struct DirectoryStep {
  std::string path;
  std::string user{};  // who owns it; empty: root
};

// std::monostate: the instruction changes no file.
using Step = std::variant<std::monostate, RunStep, CopyStep, DirectoryStep>;

// Files whose content a step's key depends on.
struct Contents {
  Source from;
  std::vector<std::string> paths;
};
std::vector<Contents> contents_of(const Step& step);

// Returns the key of the layer that a step makes on the layer with the key `below`. The key depends
// on all that the step is. `digests` has one for each of contents_of(step).
std::string key_after(std::string_view below, const Step& step,
                      const std::vector<std::string>& digests);

class StageScope {
 public:
  // `base` is the configuration that the stage starts with, `inherited` the arguments() of the
  // stage that it starts from. File, plan and options outlive the scope.
  StageScope(const Dockerfile& file, const BuildPlan& plan, const BuildOptions& options,
             ImageConfig base, Variables inherited);

  // Applies the next instruction. Fails with kInvalidArgument (invalid_dockerfile) or kUnsupported
  // (dockerfile_unsupported), and the message begins with the line.
  Result<Step> next(const Instruction& instruction);

  const StageConfig& config() const { return config_; }
  const Variables& arguments() const { return arguments_; }

  // The shell of a stage goes on in those that start from it.
  void set_shell(std::vector<std::string> shell) { config_.shell = std::move(shell); }

 private:
  Result<Meaning> expanded(const Meaning& meaning) const;
  Result<void> declare(const Arg& arg);
  Result<Step> run(const Instruction& instruction, const Run& run) const;
  Result<Step> copy(const Instruction& instruction, const Copy& copy) const;
  Result<std::string> word(std::string_view text) const;
  Result<void> check_size() const;
  Lookup lookup() const;
  std::string workdir() const { return config_.image.run.workdir.value_or("/"); }

  const Dockerfile& file_;
  const BuildPlan& plan_;
  const BuildOptions& options_;
  StageConfig config_;
  Variables arguments_;
};

}  // namespace cay::dockerfile
