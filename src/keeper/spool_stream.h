// SpoolStream: one stream of a command on disk (wire/spool_layout.h). Appending never blocks and
// never fails: bytes over the limit, or beyond a full disk, are counted and reported as a gap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "keeper/spool_budget.h"
#include "wire/messages.h"
#include "wire/spool_layout.h"

namespace cay::keeper {

class SpoolStream {
 public:
  // `dir` is the command's spool directory and outlives the stream. `name` is the file in it, made
  // at the first byte. `limit` is the most bytes on disk. It is less where the disk would have
  // fewer than `reserve` bytes free, though a little is always taken. `budget` is the sandbox's
  // rest, and outlives the stream.
  SpoolStream(int dir, const char* name, std::uint64_t limit, std::uint64_t reserve = 0,
              SpoolBudget* budget = nullptr);
  // A finished stream, by its record.
  SpoolStream(int dir, const char* name, const wire::ExtentMsg& extent);

  // `save` is called before the first write into a ring, once extent() has it: the record is to be
  // saved first.
  void before_ring(std::function<void()> save) { before_ring_ = std::move(save); }

  // True when the layout changed in a way that a reader of the directory must know (the record is
  // then to be saved again).
  bool append(std::string_view bytes);

  // The next piece from `offset`; data of at most into.size() bytes is read into `into`.
  // kEnd where nothing is (yet).
  wire::SpoolPiece read(std::uint64_t offset, std::span<char> into);

  std::uint64_t bytes() const { return extent_.bytes; }
  void mark_end() { extent_.end_offset = extent_.bytes; }
  std::uint64_t end_offset() const { return extent_.end_offset; }
  const wire::ExtentMsg& extent() const { return extent_; }

  // From now on bytes are only counted, for the directory is about to go. Earlier bytes stay
  // readable until close().
  void abandon();
  // Gives the descriptors back; a later read or append opens again.
  void close() { file_.reset(); }

 private:
  bool open_file();
  bool disk_is_short() const;
  bool start_ring(std::uint64_t size_on_disk);
  void update_gap();
  // Marks on disk how far the ring is, `until` included if a write is about to begin.
  void mark_ring(std::uint64_t until);
  // Writes a run that lies in one piece; returns how many bytes the disk took.
  std::size_t write_at(std::string_view bytes, std::uint64_t position);

  int dir_;
  const char* name_;
  std::uint64_t limit_;
  std::uint64_t reserve_ = 0;
  SpoolBudget* budget_ = nullptr;
  std::uint64_t room_until_;       // the offset at which the disk is looked at again
  std::uint64_t lost_before_ = 0;  // ring bytes below this offset were refused by the disk
  bool abandoned_ = false;
  bool all_lost_ = false;
  bool marked_ = false;
  std::function<void()> before_ring_;
  wire::ExtentMsg extent_;
  UniqueFd file_;
};

}  // namespace cay::keeper
