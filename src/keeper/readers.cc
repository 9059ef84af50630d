#include "keeper/readers.h"

#include <algorithm>
#include <array>
#include <span>

#include "wire/frame.h"

namespace cay::keeper {
namespace {

SpoolStream& stream_of(Tape& tape, unsigned index) { return index == 0 ? tape.out : tape.err; }

}  // namespace

void Readers::attach(ReplyTo to, const wire::Attach& request, std::shared_ptr<Tape> tape,
                     Command* live) {
  if (request.out_offset > tape->out.bytes() || request.err_offset > tape->err.bytes()) {
    return outbox_.fail(
        to, Error{Code::kOutOfRange, "offset_past_end",
                  "the offset is past what the command has written: attach at or before it", 0});
  }
  auto reader = std::make_unique<Reader>();
  reader->to = to;
  reader->tape = std::move(tape);
  reader->live = live;
  reader->offset[0] = request.out_offset;
  reader->offset[1] = request.err_offset;
  reader->credit = request.credit;
  wire::CommandMsg message = reader->tape->message();
  message.known = true;
  outbox_.send(to, wire::Type::kCommand, message);
  if (reader->tape->ended()) set_targets(*reader, true);
  Reader& ref = *reader;
  readers_.emplace(to.channel, std::move(reader));
  if (live != nullptr) {
    of_[live].push_back(&ref);
    live->clocks().reader_came();
  }
  wake(ref);
}

// A live reader ends with the leader's last byte. One that comes later also gets what children left
// behind wrote until now.
void Readers::set_targets(Reader& reader, bool at_attach) {
  for (unsigned i = 0; i < 2; ++i) {
    const SpoolStream& stream = stream_of(*reader.tape, i);
    reader.target[i] = std::max(reader.offset[i], at_attach ? stream.bytes() : stream.end_offset());
  }
  reader.ended = true;
}

void Readers::credit(std::uint32_t channel, std::uint64_t bytes) {
  const auto found = readers_.find(channel);
  if (found == readers_.end()) return;
  Reader& reader = *found->second;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  reader.credit = std::min(kMost, reader.credit + std::min(kMost, bytes));
  wake(reader);
}

void Readers::wake(Reader& reader) {
  if (!reader.queued) {
    reader.queued = true;
    queue_.push_back(reader.to.channel);
  }
  schedule();
}

void Readers::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  loop_.defer([this] {
    scheduled_ = false;
    pump();
  });
}

void Readers::pump() {
  while (!queue_.empty() && outbox_.room()) {
    const std::uint32_t channel = queue_.front();
    queue_.pop_front();
    const auto found = readers_.find(channel);
    if (found == readers_.end()) continue;
    Reader& reader = *found->second;
    reader.queued = false;
    if (serve(reader)) {
      reader.queued = true;
      queue_.push_back(channel);
    } else if (reader.ended && reader.offset[0] >= reader.target[0] &&
               reader.offset[1] >= reader.target[1]) {
      outbox_.send(reader.to, wire::Type::kEnd, reader.tape->message());
      remove(channel, false);
    }
  }
}

bool Readers::serve(Reader& reader) {
  for (int i = 0; i < 2; ++i) {
    const unsigned index = reader.turn;
    reader.turn = reader.turn == 0 ? 1 : 0;
    if (serve_stream(reader, index)) return true;
  }
  return false;
}

bool Readers::serve_stream(Reader& reader, unsigned index) {
  static std::array<char, wire::kDataChunk> buffer;  // one thread, used within one call only
  SpoolStream& stream = stream_of(*reader.tape, index);
  std::uint64_t& offset = reader.offset[index];
  const std::uint64_t limit = reader.ended ? reader.target[index] : stream.bytes();
  if (offset >= limit) return false;
  const bool after_end = reader.tape->ended() && offset >= stream.end_offset();
  std::uint64_t want = std::min<std::uint64_t>({limit - offset, reader.credit, buffer.size()});
  if (reader.tape->ended() && !after_end) want = std::min(want, stream.end_offset() - offset);
  const auto piece = stream.read(offset, std::span(buffer.data(), static_cast<std::size_t>(want)));
  const auto number = static_cast<std::uint8_t>(index + 1);
  if (piece.kind == wire::SpoolPiece::Kind::kGap) {
    const std::uint64_t length = std::min(piece.length, limit - offset);
    outbox_.send(reader.to, wire::Type::kGap, wire::GapMsg{number, offset, length});
    offset += length;
    return true;
  }
  if (piece.kind == wire::SpoolPiece::Kind::kEnd || piece.length == 0) return false;
  wire::Data data;
  data.stream = number;
  data.after_end = after_end;
  data.offset = offset;
  data.bytes = std::string_view(buffer.data(), static_cast<std::size_t>(piece.length));
  outbox_.send_data(reader.to, data);
  offset += piece.length;
  reader.credit -= piece.length;
  return true;
}

void Readers::remove(std::uint32_t channel, bool orphaned) {
  auto node = readers_.extract(channel);
  if (node.empty()) return;
  const Reader& reader = *node.mapped();
  if (reader.live == nullptr) return;
  const auto list = of_.find(reader.live);
  std::erase(list->second, &reader);
  if (list->second.empty()) of_.erase(list);
  reader.live->clocks().reader_left(orphaned);
}

void Readers::cancel(ReplyTo to) {
  announced_.erase(to);
  remove(to.channel, false);
}

void Readers::orphan_all() {
  announced_.clear();
  while (!readers_.empty()) remove(readers_.begin()->first, true);
  queue_.clear();
}

void Readers::on_output(Command& command) {
  const auto list = of_.find(&command);
  if (list == of_.end()) return;
  for (Reader* reader : list->second) wake(*reader);
}

void Readers::on_ended(Command& command) {
  const auto list = of_.find(&command);
  if (list == of_.end()) return;
  for (Reader* reader : list->second) {
    if (!reader->ended) set_targets(*reader, false);
    wake(*reader);
  }
}

void Readers::on_settled(Command& command) {
  const auto list = of_.find(&command);
  if (list == of_.end()) return;
  for (Reader* reader : list->second) reader->live = nullptr;
  of_.erase(list);
}

}  // namespace cay::keeper
