// Yamux: no crash, windows hold, and the same bytes in other pieces give the same session.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/langsmith/yamux.h"

namespace {

using cay::api::langsmith::Yamux;
using Streams = std::map<Yamux::Id, std::string>;

// What each stream brought, and whether the rules were kept.
std::pair<Streams, bool> play(std::string_view bytes, std::size_t piece) {
  Yamux yamux;
  Streams streams;
  for (std::size_t at = 0; at < bytes.size() && !yamux.broken(); at += piece) {
    if (yamux.feed(bytes.substr(at, piece)) == yamux.broken()) std::abort();
    while (auto event = yamux.next()) {
      if (event->kind == Yamux::Event::Kind::kOpened) {
        yamux.send(event->stream, "x");
      } else if (event->kind == Yamux::Event::Kind::kData) {
        std::string& all = streams[event->stream];
        all += event->bytes;
        if (all.size() > Yamux::kWindow) std::abort();  // nothing is given back here
      }
    }
    if (yamux.streams() > Yamux::kMostStreams) std::abort();
  }
  return {std::move(streams), yamux.broken()};
}

// Every stream answered, ended or given up by what came on it.
void converse(std::string_view bytes) {
  Yamux yamux;
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    yamux.feed(bytes.substr(at, 7));
    while (auto event = yamux.next()) {
      yamux.consumed(event->stream, event->bytes.size());
      yamux.send(event->stream, event->bytes);
      if (event->kind == Yamux::Event::Kind::kFin) yamux.fin(event->stream);
      if (event->bytes.size() == 3) yamux.reset(event->stream);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (play(bytes, size + 1) != play(bytes, 1)) std::abort();
  converse(bytes);
  return 0;
}
