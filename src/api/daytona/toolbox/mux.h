// The vendor's form of the output of two streams in one text. A mark of three bytes stands before
// each line, and wherever the stream changes (protocol reference, section 7).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "model/command.h"

namespace cay::api::daytona {

inline constexpr std::string_view kStdoutMark = "\x01\x01\x01";
inline constexpr std::string_view kStderrMark = "\x02\x02\x02";

class MuxWriter {
 public:
  // Returns the text with its marks.
  std::string add(Stream stream, std::string_view text);

 private:
  std::optional<Stream> last_;
  bool begins_line_ = true;
};

// How a client reads the logs of commands, by its version.
enum class LogForm {
  kJson,   // from 0.167 on: with marks, and the streams apart
  kMarks,  // from 0.27 on: text with marks
  kPlain,  // earlier ones, and those that send no version: text without marks
};

// "0.167.0" and the like; unreadable: kPlain. "0.0.0-dev" and the like are new.
LogForm log_form_of_version(std::string_view version);
// By the header X-Daytona-SDK-Version, or by the subprotocol of that name.
LogForm log_form_of(const http::RequestHead& head);

// The offered subprotocol that begins with `front`. Nothing: there is none.
std::optional<std::string> offered_protocol(const http::RequestHead& head, std::string_view front);

}  // namespace cay::api::daytona
