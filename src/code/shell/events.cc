#include "code/shell/events.h"

#include "code/shell/outputs.h"

namespace cay::shell {
namespace {

// A byte is at most \u0000 in the text, and 4/3 of a byte in base64.
constexpr std::size_t kMostLine = 8 * kMostRead + 64 * 1024;

// It lies outside of Events, so that the program's file does not hold its zeros.
constinit Buffer<kMostLine> event_line;

}  // namespace

void Events::begin(const Id& run, const char* type) {
  event_line.clear();
  event_line.put("{\"run\":\"");
  event_line.put(run.text());
  event_line.put("\",\"type\":\"");
  event_line.put(type);
  event_line.put('"');
}

void Events::name(const char* name) {
  event_line.put(",\"");
  event_line.put(name);
  event_line.put("\":");
}

void Events::member(const char* words, Text value) {
  name(words);
  event_line.put('"');
  bool replaced = false;
  event_line.put_json(value, true, replaced);
  event_line.put('"');
}

void Events::number(const char* words, std::uint64_t value) {
  name(words);
  event_line.put_number(value);
}

void Events::yes(const char* words) {
  name(words);
  event_line.put("true");
}

std::size_t Events::output(Text bytes, bool last) {
  name("text");
  event_line.put('"');
  bool replaced = false;
  const std::size_t rest = event_line.put_json(bytes, last, replaced);
  event_line.put('"');
  if (replaced) {
    name("base64");
    event_line.put('"');
    event_line.put_base64({bytes.data, bytes.size - rest});
    event_line.put('"');
  }
  return rest;
}

void Events::send() {
  event_line.put("}\n");
  if (!write_all(fd_, event_line.text())) leave(1);
  sent_ += event_line.size();
}

// Without a ledger there are still the events, so the program goes on.
void Events::note() {
  event_line.put("}\n");
  write_all(ledger_, event_line.text());
}

}  // namespace cay::shell
