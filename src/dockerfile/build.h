// Build: the algorithm of a build, without I/O. It returns one request after the other, and the
// host carries each out:
//
//   Build build = …;
//   Result<Request> request = build.first();
//   while (request is no Finished and no error) request = build.next(<answer of the host>);
//
// Each step that changes files runs in a sandbox of its own on the layer below it. The host seals
// the changes as the next layer. A layer whose key the host has is not built again.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dockerfile/scope.h"
#include "model/ids.h"

namespace cay::dockerfile {

// An image that a stage starts from or copies from.
struct BaseImage {
  LayerId layer;
  std::string digest;  // names its content
  ImageConfig config;
};

// Requests, with the answer that each needs.

struct ResolveImage {  // BaseImage
  std::string reference;
};
struct DigestContext {  // std::string: a digest of these files' names, modes and content
  std::vector<std::string> paths;
};
struct FindLayer {  // LayerId; empty: there is none with this key
  std::string key;
};
struct StartSandbox {  // nothing
  LayerId layer;       // empty: an empty disk
};
struct RunCommand {  // int: its exit code
  RunStep step;
  std::vector<LayerId> layers;  // for each mount; empty: the context, or an empty directory
};
struct CopyFiles {  // nothing
  CopyStep step;
  LayerId layer;  // to copy from; empty: the context
};
struct MakeDirectory {  // nothing
  DirectoryStep step;
};
struct SealLayer {  // LayerId: of what the sandbox changed, kept under the key
  std::string key;
};
struct DiscardSandbox {};  // nothing
struct Finished {          // the end
  LayerId layer;
  ImageConfig config;
};
using Request = std::variant<ResolveImage, DigestContext, FindLayer, StartSandbox, RunCommand,
                             CopyFiles, MakeDirectory, SealLayer, DiscardSandbox, Finished>;
using Answer = std::variant<std::monostate, BaseImage, std::string, LayerId, int>;

class Build {
 public:
  // Fails as plan() does.
  static Result<Build> create(Dockerfile file, BuildOptions options);

  Result<Request> first() { return advance(); }

  // Takes the answer to the last request, and returns the next request. After an error of the host
  // or of a step, the host gets DiscardSandbox if a sandbox is open, and then the error. The error
  // of a step begins with its line.
  Result<Request> next(Result<Answer> answer);

  // The instruction that is being built; null between stages.
  const Instruction* current() const { return current_; }
  // Returns the notes of the file and of the plan, for the user.
  std::vector<std::string> notes() const;

 private:
  struct Inputs {
    Dockerfile file;
    BuildOptions options;
    BuildPlan plan;
  };
  struct StageResult {
    LayerId layer;
    std::string key;
    StageConfig config;
    Variables arguments;
  };
  explicit Build(std::unique_ptr<Inputs> inputs) : inputs_(std::move(inputs)) {}

  Result<Request> advance();
  void take(const Answer& answer);
  void fail(Error error);
  // Each returns the next request; nothing if the build goes on without one.
  std::optional<Request> open_stage();
  std::optional<Request> read_instructions();
  std::optional<Request> prepare_step();
  Request in_sandbox();
  void close_stage();
  LayerId layer_of(const Source& source) const;
  std::string digest_of(const Source& source) const;
  std::vector<Source> sources_of(const Step& step) const;

  std::unique_ptr<Inputs> inputs_;  // the scope refers to it
  std::map<std::string, BaseImage> images_;
  std::map<std::size_t, StageResult> stages_;  // those that are built
  std::optional<Error> failed_;
  Request last_{Finished{}};

  // The stage that is being built.
  std::size_t stage_at_ = 0;
  std::size_t instruction_at_ = 0;
  std::optional<StageScope> scope_;
  LayerId layer_;
  std::string key_;
  const Instruction* current_ = nullptr;

  // The next layer: the directories of WORKDIR, and a step that runs or copies.
  std::vector<Step> steps_;
  std::string next_key_;
  std::vector<std::string> digests_;  // of the contents that the last of the steps depends on
  bool complete_ = false;             // the steps are all of this layer's
  bool missing_ = false;              // the host does not have the layer
  bool open_ = false;                 // a sandbox is open
  bool sealed_ = false;
  std::size_t done_ = 0;  // of the steps, in the sandbox
};

}  // namespace cay::dockerfile
