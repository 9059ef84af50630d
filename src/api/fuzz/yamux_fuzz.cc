// Yamux: no crash, windows hold, and the same bytes in other pieces give the same session.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/langsmith/yamux.h"
#include "tests/fuzz/pieces.h"

namespace {

using cay::api::langsmith::Yamux;
using cay::api::langsmith::YamuxStreams;
using Streams = std::map<Yamux::Id, std::string>;

// Returns each stream's bytes, and whether the rules were kept.
std::pair<Streams, bool> play(cay::fuzz::Pieces bytes) {
  Yamux yamux;
  Streams streams;
  for (auto piece = bytes.next(); !piece.empty() && !yamux.broken(); piece = bytes.next()) {
    if (yamux.feed(piece) == yamux.broken()) std::abort();
    while (auto event = yamux.next()) {
      if (event->kind == Yamux::Event::Kind::kOpened) {
        yamux.send(event->stream, "x");
      } else if (event->kind == Yamux::Event::Kind::kData) {
        std::string& all = streams[event->stream];
        all += event->bytes;
        if (all.size() > YamuxStreams::kWindow) std::abort();  // nothing is given back here
      }
    }
    if (yamux.streams() > YamuxStreams::kMost) std::abort();
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
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size - 1);
  if (play(cay::fuzz::Pieces(bytes)) != play(cay::fuzz::Pieces(bytes, data[size - 1])))
    std::abort();
  converse(bytes);
  return 0;
}
