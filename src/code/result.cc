#include "code/result.h"

#include <array>
#include <utility>

namespace cay::code {
namespace {

std::string seconds(std::int64_t milliseconds) {
  constexpr std::int64_t kOneSecond = 1000;
  std::string out = std::to_string(milliseconds / kOneSecond);
  const std::int64_t rest = milliseconds % kOneSecond;
  if (rest != 0) out += "." + std::to_string(kOneSecond + rest).substr(1);
  return out + " s";
}

std::string subject_of(Phase phase) {
  switch (phase) {
    case Phase::kInstall: return "the installation of the libraries";
    case Phase::kCompile: return "the compiler";
    case Phase::kRun: break;
  }
  return "the program";
}

// The note has what Cay saw from outside, and guesses no reason. A program may have written to a
// file, or printed an empty text.
std::string silence(const RunResult& result) {
  const std::string subject = subject_of(result.phase);
  const std::string wrote_nothing = "wrote nothing to stdout or stderr";
  const CommandEnd& end = result.command.end;
  switch (end.state) {
    case CommandState::kExited: break;
    case CommandState::kTimedOut:
      return subject + " " + wrote_nothing + " before the time limit ended it";
    case CommandState::kOomKilled:
      return subject + " " + wrote_nothing + " before it ran out of memory";
    default: return subject + " " + wrote_nothing + " before it was ended";
  }
  const std::string exited =
      subject + " exited with code " + std::to_string(end.exit_code) + " and " + wrote_nothing;
  if (!result.ok()) return exited;
  return exited + ". To see a value, print it with " + std::string(result.language->prints);
}

bool is_silent(const Output& output) {
  return output.out.empty() && output.err.empty() && !output.out_gap && !output.err_gap;
}

}  // namespace

bool RunResult::ok() const {
  return phase == Phase::kRun && command.end.state == CommandState::kExited &&
         command.end.exit_code == 0;
}

Output OutputKeeper::take() {
  auto out = out_.take();
  auto err = err_.take();
  return {.out = std::move(out.bytes),
          .err = std::move(err.bytes),
          .out_gap = out.gap,
          .err_gap = err.gap};
}

std::string_view mime_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kTypes = {
      {{".png", "image/png"},
       {".jpg", "image/jpeg"},
       {".jpeg", "image/jpeg"},
       {".gif", "image/gif"},
       {".webp", "image/webp"},
       {".svg", "image/svg+xml"},
       {".pdf", "application/pdf"},
       {".html", "text/html"},
       {".json", "application/json"},
       {".csv", "text/csv"},
       {".md", "text/markdown"},
       {".txt", "text/plain"},
       {".log", "text/plain"},
       {".xml", "application/xml"}}};
  for (const auto& [suffix, type] : kTypes) {
    if (name.ends_with(suffix)) return type;
  }
  return "application/octet-stream";
}

std::vector<std::string> notes_of(const RunResult& result, std::uint64_t memory_bytes) {
  constexpr unsigned kMiB = 20;
  std::vector<std::string> out;
  const CommandEnd& end = result.command.end;
  const std::string subject = subject_of(result.phase);
  if (end.state == CommandState::kTimedOut)
    out.push_back("the time limit of " + seconds(result.command.timeout_ms) + " ended " + subject +
                  " and all that it had started");
  if (end.oom_kills > 0)
    out.push_back("the kernel ended " + std::to_string(end.oom_kills) +
                  (end.oom_kills == 1 ? " process" : " processes") + " of " + subject +
                  " for want of memory: the sandbox has " + std::to_string(memory_bytes >> kMiB) +
                  " MiB");
  // A picture is what its program was run for.
  if (is_silent(result.output) && (!result.ok() || result.artifacts.empty()))
    out.push_back(silence(result));
  if (result.output.out_gap || result.output.err_gap)
    out.push_back("the output is longer than this result holds: command " +
                  result.command.id.get() + " has more of it");
  return out;
}

}  // namespace cay::code
