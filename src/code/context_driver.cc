#include "code/context_driver.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/sha256.h"
#include "code/drivers.h"
#include "code/language.h"
#include "codec/base64.h"
#include "codec/json.h"

namespace cay::code {
namespace {

constexpr std::string_view kMark = "context";
constexpr std::size_t kLongestId = 64;

// Writes the program of a shell's driver to a file, and becomes it. The program removes the file.
// Without SIGINT, since an interrupt may come before there is a call to end.
constexpr std::string_view kStartShell =
    "trap '' INT; umask 077; f=$(mktemp /tmp/.cay-shell-XXXXXX) && base64 -d <<<\"$1\" >\"$f\" && "
    "chmod 700 \"$f\" && exec \"$f\" \"$f\" \"$BASH\"";

std::string shell_program() {
  return codec::base64(std::string_view(
      cay_shell_driver, static_cast<std::size_t>(cay_shell_driver_end - cay_shell_driver)));
}

const std::vector<Driver>& drivers() {
  static const std::vector<Driver> kAll{
      {.language = "python",
       .program = "python3",
       .package = "python3",
       .argv = {"python3", "-u", "-c", std::string(kPythonDriver)},
       .can_fork = true},
      {.language = "javascript",
       .program = "node",
       .package = "nodejs",
       .argv = {"node", "-e", std::string(kJavaScriptDriver)}},
      {.language = "bash",
       .program = "bash",
       .package = "bash",
       .argv = {"bash", "-c", std::string(kStartShell), "cay-shell", shell_program()},
       .is_shell = true},
  };
  return kAll;
}

// Takes the first word off `text`.
std::string_view word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view found = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return found;
}

}  // namespace

const Driver* driver_of(std::string_view language) {
  const Language* known = find_language(language);
  const auto found =
      std::ranges::find(drivers(), known ? known->name : language, &Driver::language);
  return found == drivers().end() ? nullptr : &*found;
}

std::string driver_languages() {
  std::string out;
  for (const Driver& one : drivers()) out += (out.empty() ? "" : ", ") + std::string(one.language);
  return out;
}

std::size_t env_size(const std::map<std::string, std::string>& env) {
  std::size_t sum = 0;
  for (const auto& [name, value] : env) sum += name.size() + value.size();
  return sum;
}

std::string to_mark(const ContextMark& mark) {
  std::string out = std::string(kMark) + " " + mark.id + " " + std::to_string(mark.generation) +
                    " " + mark.language;
  if (mark.env.empty()) return out;
  codec::json::object env;
  for (const auto& [name, value] : mark.env) env[name] = value;
  return out + " " + codec::write(env);
}

std::optional<ContextMark> from_mark(std::string_view mark) {
  if (word(mark) != kMark) return std::nullopt;
  ContextMark out;
  out.id = word(mark);
  const std::string_view number = word(mark);
  const char* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, out.generation);
  if (read.ec != std::errc() || read.ptr != end || out.generation == 0) return std::nullopt;
  out.language = word(mark);
  if (!mark.empty()) {
    const auto env = codec::parse_object(mark);
    if (!env) return std::nullopt;
    for (const auto& [name, value] : *env) {
      if (!value.is_string()) return std::nullopt;
      out.env.emplace(name, value.get_string());
    }
  }
  if (!is_valid_context_id(out.id) || driver_of(out.language) == nullptr) return std::nullopt;
  return out;
}

bool is_valid_context_id(std::string_view text) {
  const auto is_good = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= kLongestId && std::ranges::all_of(text, is_good);
}

std::string tag_of(const EvaluationSpec& spec) {
  constexpr std::size_t kDigits = 16;
  std::string text = spec.input.empty() ? spec.code : spec.code + '\0' + spec.input;
  if (spec.fork) text += std::string_view("\0fork", 5);
  return sha256_hex(text).substr(0, kDigits);
}

std::string request_line(std::string_view language, const EvaluationSpec& spec) {
  if (driver_of(language)->is_shell) {
    return "\nrun " + spec.id + " " + tag_of(spec) + " " + std::to_string(spec.timeout_ms) + " " +
           codec::base64(spec.code) + " " + codec::base64(spec.input) + "\n";
  }
  codec::json::object request{{"run", spec.id}, {"tag", tag_of(spec)}, {"code", spec.code}};
  if (spec.fork) request["fork"] = true;
  return "\n" + codec::write(request) + "\n";
}

}  // namespace cay::code
