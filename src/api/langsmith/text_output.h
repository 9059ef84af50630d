// TextOutput: both streams of a command as LangSmith's clients read them, made from the core's
// events. Gaps become notes, and bytes that children write after the command's end are left out:
// `exit` is the last frame here.
#pragma once
#include <vector>

#include "api/langsmith/text_stream.h"
#include "core/ports/runtime.h"

namespace cay::api::langsmith {

class TextOutput {
 public:
  TextOutput() : TextOutput(TextStream({}, 0), TextStream({}, 0)) {}
  TextOutput(TextStream out, TextStream err) : out_{std::move(out)}, err_{std::move(err)} {}

  // kInternal (misplaced_output): not where the last one ended.
  Result<std::vector<TextPiece>> take(const core::OutputData& data);
  Result<std::vector<TextPiece>> take(const core::OutputGap& gap);
  // At the end: what is held back of a broken character.
  std::vector<TextPiece> finish(Stream stream);
  const TextStream& of(Stream stream) const {
    return stream == Stream::kStdout ? out_.text : err_.text;
  }

 private:
  struct One {
    TextStream text;
    bool over = false;  // the command has ended, and something was written since
  };
  One& one(Stream stream) { return stream == Stream::kStdout ? out_ : err_; }

  One out_;
  One err_;
};

}  // namespace cay::api::langsmith
