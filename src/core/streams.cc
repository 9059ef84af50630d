#include "core/streams.h"

namespace cay::core {
namespace {

// Members are destroyed in reverse: the stream before the connection and the hold.
class HeldReader : public CommandReader {
 public:
  HeldReader(std::unique_ptr<CommandReader> inner, Held held, std::optional<Command> shown)
      : held_(std::move(held)), inner_(std::move(inner)), shown_(std::move(shown)) {}
  const Command& command() const override { return shown_ ? *shown_ : inner_->command(); }
  Task<OutputEvent> next() override {
    auto event = co_await inner_->next();
    co_return event;
  }

 private:
  Held held_;
  std::unique_ptr<CommandReader> inner_;
  std::optional<Command> shown_;
};

class HeldBytes : public ByteSource {
 public:
  HeldBytes(std::unique_ptr<ByteSource> inner, Held held) : held_(std::move(held)), inner_(std::move(inner)) {}
  Task<Bytes> next() override {
    auto bytes = co_await inner_->next();
    co_return bytes;
  }

 private:
  Held held_;
  std::unique_ptr<ByteSource> inner_;
};

class HeldTree : public TreeSource {
 public:
  HeldTree(std::unique_ptr<TreeSource> inner, Held held) : held_(std::move(held)), inner_(std::move(inner)) {}
  Task<std::optional<TreeEvent>> next() override {
    auto event = co_await inner_->next();
    co_return event;
  }

 private:
  Held held_;
  std::unique_ptr<TreeSource> inner_;
};

}  // namespace

std::unique_ptr<CommandReader> held_reader(std::unique_ptr<CommandReader> inner, Held held,
                                           std::optional<Command> shown) {
  return std::make_unique<HeldReader>(std::move(inner), std::move(held), std::move(shown));
}
std::unique_ptr<ByteSource> held_bytes(std::unique_ptr<ByteSource> inner, Held held) {
  return std::make_unique<HeldBytes>(std::move(inner), std::move(held));
}
std::unique_ptr<TreeSource> held_tree(std::unique_ptr<TreeSource> inner, Held held) {
  return std::make_unique<HeldTree>(std::move(inner), std::move(held));
}

}  // namespace cay::core
