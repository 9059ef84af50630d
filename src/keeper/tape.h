// Tape records one command in SPOOL/<command id>: its record (a CommandMsg) and its two output
// streams. The running command and its readers share one Tape.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/spare_directory.h"
#include "keeper/spool_stream.h"
#include "wire/messages.h"

namespace cay::keeper {

class Tape {
 public:
  // Makes the directory and the first record (state running), from `spare` if there is one. Fails
  // kExhausted when the disk is full.
  static Result<std::shared_ptr<Tape>> create(int spool, wire::CommandMsg message,
                                              std::uint64_t limit, std::uint64_t reserve = 0,
                                              SpoolBudget* budget = nullptr,
                                              SpareDirectory* spare = nullptr);
  // A finished command's. Fails kLost when its record is gone or broken.
  static Result<std::shared_ptr<Tape>> load(int spool, const std::string& id);
  // Returns the record that an earlier life of the sandbox left. A running one is settled as lost,
  // on disk too. nullopt: nothing was ever started under that id.
  static std::optional<wire::CommandMsg> recall(int spool, const std::string& id,
                                                const std::string& boot_id);
  // Ids of all commands that have a directory in the spool.
  static std::set<std::string> ids(int spool);
  // Removes a command's directory; whatever is missing is fine.
  static void erase(int spool, const std::string& id);
  // Returns the bytes that its output takes there.
  static std::uint64_t bytes_on_disk(int spool, const std::string& id);

  // Adds the present knowledge to the record on disk. Returns false when the disk refuses, and the
  // older record stays. Records are appended, not replaced by rename: a replaced file's inode is
  // freed, and ext4 walks past every inode freed in the last half minute each time it makes a file.
  bool save();
  // The record as it stands, argv and extents included.
  wire::CommandMsg message();

  bool ended() const { return ended_; }
  // `writers`: whether somebody may still write (a child that was left behind).
  void mark_ended(bool writers = false);
  // No writer is left. Returns true if the record on disk is to be saved again, since it still has
  // writers.
  bool mark_settled();
  // The directory is removed by the caller; from now on output is only counted.
  void abandon();
  void close_files();

  wire::CommandMsg about;  // argv may live on disk only: message() completes it
  SpoolStream out;
  SpoolStream err;

 private:
  Tape(UniqueFd dir, wire::CommandMsg message, std::uint64_t limit, std::uint64_t reserve,
       SpoolBudget* budget);
  Tape(UniqueFd dir, wire::CommandMsg message);

  static Result<UniqueFd> make_directory(int spool, const std::string& id,
                                         const std::string& record);
  wire::ExtentMsg extent_for_record(const SpoolStream& stream) const;

  UniqueFd dir_;
  bool argv_on_disk_ = false;
  bool ended_ = false;
  bool writers_ = false;
  bool abandoned_ = false;
};

// Whether `id` may name a command (and so a directory): 1-128 of [A-Za-z0-9._-], no leading dot.
bool valid_command_id(std::string_view id);

}  // namespace cay::keeper
