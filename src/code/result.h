// RunResult reports how a run ended. The ends of commands are true, because Cay observed them from
// outside. Output and artifacts are claims of the program.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/kept_output.h"
#include "code/plan.h"
#include "model/command.h"
#include "model/ids.h"

namespace cay::code {

inline constexpr std::size_t kMostArtifacts = 32;
inline constexpr std::uint64_t kMostArtifactBytes = 8 << 20;    // of one
inline constexpr std::uint64_t kMostArtifactsBytes = 16 << 20;  // of all together

struct Artifact {
  std::string name;  // of the file, valid UTF-8
  std::string mime;  // by its suffix
  std::string bytes;
};

struct Output {
  std::string out, err;
  std::optional<codec::KeptGap> out_gap, err_gap;
};

struct RunResult {
  const Language* language = nullptr;
  SandboxId sandbox;
  Phase phase = Phase::kRun;  // that ended the run: an earlier one failed
  Command command;            // of that phase, with its end
  Output output;              // likewise
  std::vector<Artifact> artifacts{};
  bool installed = false;       // libraries, by this run
  std::int64_t install_ms = 0;  // 0: nothing was to be done
  std::int64_t compile_ms = 0;
  std::int64_t run_ms = 0;
  std::vector<std::string> notes{};  // for people: that nothing was printed, what was left out

  bool ok() const;
};

// Gathers a command's output in bounded memory.
class OutputKeeper {
 public:
  explicit OutputKeeper(std::uint64_t most) : out_(most), err_(most) {}
  void add(Stream stream, std::uint64_t offset, std::string_view bytes) {
    (stream == Stream::kStdout ? out_ : err_).add(offset, bytes);
  }
  void add_gap(Stream stream, std::uint64_t offset, std::uint64_t length) {
    (stream == Stream::kStdout ? out_ : err_).add_gap(offset, length);
  }
  Output take();

 private:
  codec::KeptOutput out_, err_;
};

// By the suffix of the name: "image/png". Otherwise application/octet-stream.
std::string_view mime_of(std::string_view name);

// The notes that follow from the end, the output and the artifacts alone. `memory_bytes`: the
// sandbox's limit.
std::vector<std::string> notes_of(const RunResult& result, std::uint64_t memory_bytes);

}  // namespace cay::code
