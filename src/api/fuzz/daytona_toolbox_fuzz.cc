// Reads what programs inside a sandbox, and clients, send to Daytona's toolbox. However a
// language server's output is cut, it gives the same messages or a refusal.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/daytona/toolbox/base64url.h"
#include "api/daytona/toolbox/bulk.h"
#include "api/daytona/toolbox/charts.h"
#include "api/daytona/toolbox/git_status.h"
#include "api/daytona/toolbox/lsp_frames.h"
#include "api/daytona/toolbox/machine.h"
#include "api/daytona/toolbox/mux.h"
#include "base/assert.h"
#include "tests/fuzz/pieces.h"

namespace {

using namespace cay::api::daytona;  // NOLINT(google-build-using-namespace): it is all about them

struct Messages {
  bool refused = false;
  std::string all;
};

Messages messages_of(cay::fuzz::Pieces bytes) {
  Messages out;
  LspFrames frames;
  for (std::string_view piece = bytes.next(); !piece.empty(); piece = bytes.next()) {
    frames.feed(piece);
    for (;;) {
      const auto message = frames.next();
      if (!message) {
        out.refused = true;
        return out;
      }
      if (!message->has_value()) break;
      out.all += **message + "\n";
    }
  }
  return out;
}

// Without its marks the text is what was written.
void check_marks(std::string_view text, std::uint8_t where) {
  MuxWriter mux;
  std::string marked;
  auto stream = cay::Stream::kStdout;
  cay::fuzz::Pieces pieces(text, where);
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    marked += mux.add(stream, piece);
    stream = stream == cay::Stream::kStdout ? cay::Stream::kStderr : cay::Stream::kStdout;
  }
  const bool has_marks = text.find_first_of("\1\2") != std::string_view::npos;
  std::erase_if(marked, [](char c) { return c == '\1' || c == '\2'; });
  if (!has_marks) CAY_ASSERT(marked == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Messages whole = messages_of(cay::fuzz::Pieces(in));
  const Messages cut = messages_of(cay::fuzz::Pieces(in, data[0]));
  if (!whole.refused) CAY_ASSERT(!cut.refused && whole.all == cut.all);
  check_marks(in, data[0]);
  const auto status = git_status_json(in);
  for (const auto& one : status.at("fileStatus").as_array())
    CAY_ASSERT(one.at("staging").is_string());
  static_cast<void>(git_log_json(in));
  static_cast<void>(git_remotes_json(in));
  CAY_ASSERT(!listening_ports(in).contains(0));
  static_cast<void>(disk_space(in));
  static_cast<void>(memory_value(in, "Cached"));
  static_cast<void>(log_form_of_version(in));
  const auto name = bulk_name(in);
  if (name) CAY_ASSERT(in.ends_with(name->is_file ? "].file" : "].path"));
  const std::string head =
      bulk_head({.name = "file", .path = in, .type = "text/plain", .length = {}});
  CAY_ASSERT(std::ranges::count(head, '\n') == 3);
  std::string output(in);
  static_cast<void>(take_charts(output));
  CAY_ASSERT(output.size() <= in.size());
  CAY_ASSERT(from_base64url(base64url(in)) == in);
  static_cast<void>(from_base64url(in));
  return 0;
}
