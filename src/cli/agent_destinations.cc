#include "cli/agent_destinations.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <utility>

#include "cli/answers.h"
#include "cli/render.h"
#include "codec/json.h"
#include "codec/lenient.h"
#include "http/client.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr std::chrono::milliseconds kLookEvery{300};
constexpr int kReadPauseMs = 200;
constexpr std::chrono::seconds kCheckEvery{2};  // whether a shown question is still open
constexpr std::size_t kMostLine = 100;

std::string route_of(const std::string& sandbox) {
  return "/api/v1/sandboxes/" + http::encode_segment(sandbox) + "/network/questions";
}

// A line of stdin; nullopt: `is_over`, or the input has ended.
std::optional<std::string> typed_line(const std::function<bool()>& is_over, bool& ended) {
  std::string line;
  while (!is_over()) {
    pollfd at{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&at, 1, kReadPauseMs) <= 0) continue;
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) {
      ended = true;
      return std::nullopt;
    }
    if (byte == '\n') return line;
    if (line.size() < kMostLine) line += byte;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Destination> destinations_in(const std::string& sandbox, const std::string& body) {
  std::vector<Destination> out;
  const auto answer = parsed(body);
  const auto* items = answer.if_contains("items");
  if (items == nullptr || !items->is_array()) return out;
  for (const auto& item : items->get_array()) {
    const auto* one = item.if_object();
    if (one == nullptr) continue;
    const std::string host = printable(text_of(*one, "host"));
    out.push_back({.sandbox = sandbox,
                   .id = text_of(*one, "id"),
                   .host = host.find(':') == std::string::npos ? host : "[" + host + "]",
                   .port = text_of(*one, "port"),
                   .expires_at = text_of(*one, "expires_at")});
  }
  return out;
}

std::optional<DestinationAnswer> destination_answer(std::string_view line) {
  while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
  while (line.starts_with(' ')) line.remove_prefix(1);
  if (line == "o" || line == "once") return DestinationAnswer{.allowed = true, .always = false};
  if (line == "a" || line == "always") return DestinationAnswer{.allowed = true, .always = true};
  if (line == "n" || line == "no") return DestinationAnswer{};
  return std::nullopt;
}

void DestinationWatch::add(const std::string& sandbox) {
  if (sandbox.empty()) return;
  const std::scoped_lock lock(mutex_);
  sandboxes_.insert(sandbox);
}

void DestinationWatch::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::set<std::string> present;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, kLookEvery, [] { return false; });
      present = sandboxes_;
    }
    for (const std::string& sandbox : present) {
      if (!stop.stop_requested()) look(sandbox, stop);
    }
  }
}

void DestinationWatch::look(const std::string& sandbox, const std::stop_token& stop) {
  std::vector<Destination> open;
  try {
    open = destinations_in(sandbox, face_.request("GET", route_of(sandbox), ""));
  } catch (const std::exception&) {
    return;  // the daemon is away, or the sandbox is gone: the run itself reports that
  }
  for (const Destination& one : open) {
    if (stop.stop_requested() || !seen_.insert(one.id).second) continue;
    auto checked = std::chrono::steady_clock::now();
    const auto is_over = [&] {
      if (stop.stop_requested()) return true;
      const auto now = std::chrono::steady_clock::now();
      if (now - checked < kCheckEvery) return false;
      checked = now;
      return !is_open(one);
    };
    const auto answer = face_.answer(one, is_over);
    if (!answer) continue;
    const json::object body{{"verdict", answer->allowed ? "allow" : "deny"},
                            {"for", answer->always ? "always" : "once"}};
    try {
      face_.request("POST", route_of(sandbox) + "/" + http::encode_segment(one.id),
                    codec::write(body));
    } catch (const std::exception& error) {
      face_.note(one.text() + ": " + printable(error.what()) + "\n");
    }
  }
}

// In doubt it is.
bool DestinationWatch::is_open(const Destination& destination) const {
  try {
    for (const Destination& one : destinations_in(
             destination.sandbox, face_.request("GET", route_of(destination.sandbox), ""))) {
      if (one.id == destination.id) return true;
    }
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

void DestinationFeed::on_event(const std::string& thread, const agent::ThreadEvent& event) {
  if (event.type == "sandbox_bound") watch_.add(codec::string_at(event.data, "id"));
  next_.on_event(thread, event);
}

void DestinationFeed::on_delta(const std::string& thread, const agent::Delta& delta) {
  next_.on_delta(thread, delta);
}

void DestinationFeed::on_tool_output(const std::string& thread, const std::string& call_id,
                                     std::string_view bytes) {
  next_.on_tool_output(thread, call_id, bytes);
}

DestinationFace terminal_destinations(DestinationFace face) {
  face.answer = [note = face.note](
                    const Destination& one,
                    const std::function<bool()>& is_over) -> std::optional<DestinationAnswer> {
    // Keys that were typed before the question are no answer to it.
    ::tcflush(STDIN_FILENO, TCIFLUSH);
    for (;;) {
      note("? the sandbox wants to reach " + one.text() + "\n  [o]nce, [a]lways, [n]o: ");
      bool ended = false;
      const auto line = typed_line(is_over, ended);
      if (ended) return DestinationAnswer{};
      if (!line) {
        note("\n  " + one.text() + " waits no longer\n");
        return std::nullopt;
      }
      if (const auto answer = destination_answer(*line)) return answer;
    }
  };
  return face;
}

DestinationFace json_destinations(DestinationFace face,
                                  std::function<void(std::string_view)> write) {
  face.answer = [write = std::move(write)](
                    const Destination& one,
                    const std::function<bool()>&) -> std::optional<DestinationAnswer> {
    write(codec::write(json::object{{"type", "network_asked"},
                                    {"sandbox", one.sandbox},
                                    {"id", one.id},
                                    {"host", one.host},
                                    {"port", one.port},
                                    {"expires_at", one.expires_at}}) +
          "\n");
    return std::nullopt;
  };
  return face;
}

DestinationFace unattended_destinations(DestinationFace face) {
  face.answer = [note = face.note](const Destination& one, const std::function<bool()>&) {
    note("refused " + one.text() +
         ": the sandbox wanted to reach it, and nobody can answer here\n");
    return std::optional(DestinationAnswer{});
  };
  return face;
}

}  // namespace cay::cli
