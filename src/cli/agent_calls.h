// CallBlocks: the calls of tools as blocks of text. Each has a line with the tool and its short
// arguments, the change that it makes to a file, and bounded output.
//
// Several calls may run at once. The first that began is live, and the others wait for their turn:
// blocks never mix.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cay::cli {

// How a text is shown where colours are wanted.
enum class Paint : std::uint8_t { kPlain, kHead, kDim, kAdded, kRemoved, kBad };
std::string painted(std::string_view text, Paint paint, bool colour);

struct CallEnd {
  bool failed = false;  // the call was invalid or refused: the tool did not run
  std::string text{};   // the model's view of it
  std::optional<int> exit_code{};
};

class CallBlocks {
 public:
  CallBlocks(std::function<void(std::string_view)> write, bool colour)
      : write_(std::move(write)), colour_(colour) {}

  // `arguments` is JSON as the model wrote it.
  void begin(std::string id, std::string name, std::string arguments);
  // Output of an unknown call is ignored.
  void output(std::string_view id, std::string_view bytes);
  void end(std::string_view id, CallEnd end);
  bool empty() const { return calls_.empty(); }

 private:
  struct Call {
    std::string id, name, arguments;
    std::string pending{};           // output that is not shown yet, without a line's end
    std::size_t shown = 0;           // lines
    std::uint64_t hidden = 0;        // lines behind those
    std::deque<std::string> last{};  // of these the last ones
    bool has_output = false;
    std::optional<CallEnd> ended{};
  };

  Call* find(std::string_view id);
  void show_head(const Call& call);
  void take_lines(Call& call);
  void take_line(Call& call, std::string_view line);
  void show_end(Call& call);
  void show_result(const Call& call);
  void advance();
  void line(std::string_view text, Paint paint);

  std::function<void(std::string_view)> write_;
  bool colour_;
  std::deque<Call> calls_;  // the first is live
};

// Returns the change that a call of write_file or edit_file makes, a line each with "+ ", "- " or
// "  " before it. Empty: another tool, or malformed arguments.
std::string change_of(std::string_view tool, std::string_view arguments);

}  // namespace cay::cli
