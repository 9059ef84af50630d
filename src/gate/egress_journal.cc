#include "gate/egress_journal.h"

#include <chrono>
#include <utility>

#include "async/deadline.h"
#include "base/clock.h"

namespace cay::gate {
namespace {

constexpr Millis kWriteEvery{20};  // one file for many changes
constexpr Millis kReportEvery{1'000};

}  // namespace

EgressJournal::EgressJournal(GateContext& context, const std::string& sandbox_id,
                             const policy::Choice& choice)
    : decisions_(context.directory, sandbox_id, choice.policy, choice.rules),
      changed_(context.loop),
      quotas_{ByteQuota(context.sent_most, decisions_.sent(),
                        [this](std::uint64_t up_to) { decisions_.set_aside_sent(up_to); }),
              ByteQuota(context.received_most, decisions_.received(),
                        [this](std::uint64_t up_to) { decisions_.set_aside_received(up_to); }),
              [this] { end_all(); }},
      opened_(context.loop) {}

void EgressJournal::note(const Decisions::What& what, Decisions::Line* line) {
  auto made = decisions_.note(what, system_clock().wall());
  if (line != nullptr) *line = std::move(made);
  changed_.set();
}

void EgressJournal::note_found(const Decisions::What& what) {
  decisions_.note_found(what, system_clock().wall());
  changed_.set();
}

void EgressJournal::note_asked(const Decisions::What& what) {
  decisions_.note_asked(what, system_clock().wall());
  changed_.set();
}

void EgressJournal::note_moved(const Decisions::Line& line, std::uint64_t sent,
                               std::uint64_t received) {
  if (sent > 0 || received > 0) decisions_.moved(line, sent, received);
  changed_.set();
}

void EgressJournal::go_by(const policy::Choice& choice) {
  decisions_.go_by(choice.policy, choice.rules);
  changed_.set();
}

EgressJournal::Entry::Entry(EgressJournal& journal, ConnectionRecord& record)
    : journal_(journal), record_(record) {
  journal_.open_.insert(&record_);
  journal_.opened_.set();
}

EgressJournal::Entry::~Entry() {
  journal_.report(record_);
  journal_.open_.erase(&record_);
}

void EgressJournal::report(ConnectionRecord& record) {
  const std::uint64_t sent = record.sent - record.reported_sent;
  const std::uint64_t received = record.received - record.reported_received;
  if (sent == 0 && received == 0) return;
  note_moved(record.hosts.back().line, sent, received);
  record.reported_sent = record.sent;
  record.reported_received = record.received;
}

void EgressJournal::end_all() {
  if (std::exchange(ended_, true)) return;
  const auto refuse = [this](const std::string& host, const Endpoint& to) {
    note({.host = host,
          .address = to.address.text(),
          .port = to.port,
          .allowed = false,
          .reason = kBytesUsedUp});
  };
  for (ConnectionRecord* one : open_) {
    refuse(one->hosts.back().name, one->hosts.back().facts.to);
    one->cut();
  }
  handed_over_.cut([](const HandedOver::One&) { return true; },
                   [&](const HandedOver::One& one) { refuse(one.host, one.meant); });
}

bool EgressJournal::may_look_up(const std::string& name) {
  const bool is_new = !new_names_.has(name);
  if (!new_names_.may_ask(name, std::chrono::steady_clock::now())) {
    // One line for all of them: the names are what a guest would carry data out in.
    note({.host = "*", .address = {}, .port = 0, .allowed = false, .reason = kTooManyNewNames});
    return false;
  }
  if (!is_new) return true;
  // The servers of its domain read a new name, so its bytes count as sent.
  const bool may = quotas_.sent.has(name.size());
  quotas_.sent.take(name.size());
  if (may) {
    note_moved({}, name.size(), 0);
    return true;
  }
  note({.host = name, .address = {}, .port = 0, .allowed = false, .reason = kBytesUsedUp});
  end_all();
  return false;
}

asio::awaitable<void> EgressJournal::report_open() {
  for (;;) {
    if (open_.empty()) {
      opened_.reset();
      co_await opened_.wait();
    }
    co_await sleep_for(kReportEvery);
    for (ConnectionRecord* one : open_) report(*one);
  }
}

asio::awaitable<void> EgressJournal::keep_written() {
  for (;;) {
    if (!decisions_.dirty()) {
      co_await changed_.wait();
    }
    changed_.reset();
    // If the disk is full, the decisions stay in memory and go with the next write.
    static_cast<void>(decisions_.write());
    co_await sleep_for(kWriteEvery);
  }
}

}  // namespace cay::gate
