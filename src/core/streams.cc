#include "core/streams.h"

#include "async/piped.h"

namespace cay::core {
namespace {

// The file bytes in a piece of a tree.
std::size_t size_of(const Result<std::optional<TreeEvent>>& event) {
  if (!event || !*event) return 0;
  const auto* bytes = std::get_if<Bytes>(&**event);
  return bytes == nullptr ? 0 : bytes->size();
}

// Members are destroyed in reverse: the stream before the connection and the hold.
class HeldReader : public CommandReader {
 public:
  HeldReader(std::unique_ptr<CommandReader> inner, Held held, std::optional<Command> shown)
      : held_(std::move(held)), inner_(std::move(inner)), shown_(std::move(shown)) {}
  const Command& command() const override { return shown_ ? *shown_ : inner_->command(); }
  Task<OutputEvent> next() override {
    auto event = co_await inner_->next();
    if (event) {
      if (const auto* data = std::get_if<OutputData>(&*event))
        held_.entry->bytes_out += data->bytes.size();
    }
    co_return event;
  }
  void detach_with_next() override { inner_->detach_with_next(); }

 private:
  Held held_;
  std::unique_ptr<CommandReader> inner_;
  std::optional<Command> shown_;
};

class HeldBytes final : public PassingSource {
 public:
  HeldBytes(std::unique_ptr<ByteSource> inner, Held held)
      : PassingSource(std::move(inner)), held_(std::move(held)) {}
  ~HeldBytes() override { drop(); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

 private:
  Result<void> see(std::size_t size) override {
    held_.entry->bytes_out += size;
    return {};
  }

  Held held_;
};

class HeldTree : public TreeSource {
 public:
  HeldTree(std::unique_ptr<TreeSource> inner, Held held)
      : held_(std::move(held)), inner_(std::move(inner)) {}
  Task<std::optional<TreeEvent>> next() override {
    auto event = co_await inner_->next();
    held_.entry->bytes_out += size_of(event);
    co_return event;
  }

 private:
  Held held_;
  std::unique_ptr<TreeSource> inner_;
};

class CountedBytes final : public PassingSource {
 public:
  CountedBytes(std::unique_ptr<ByteSource> inner, std::shared_ptr<Entry> entry)
      : PassingSource(std::move(inner)), entry_(std::move(entry)) {}

 private:
  Result<void> see(std::size_t size) override {
    entry_->bytes_in += size;
    return {};
  }

  std::shared_ptr<Entry> entry_;
};

class CountedTree : public TreeSource {
 public:
  CountedTree(std::unique_ptr<TreeSource> inner, std::shared_ptr<Entry> entry)
      : inner_(std::move(inner)), entry_(std::move(entry)) {}
  Task<std::optional<TreeEvent>> next() override {
    auto event = co_await inner_->next();
    entry_->bytes_in += size_of(event);
    co_return event;
  }

 private:
  std::unique_ptr<TreeSource> inner_;
  std::shared_ptr<Entry> entry_;
};

}  // namespace

std::unique_ptr<CommandReader> held_reader(std::unique_ptr<CommandReader> inner, Held held,
                                           std::optional<Command> shown) {
  return std::make_unique<HeldReader>(std::move(inner), std::move(held), std::move(shown));
}
std::unique_ptr<ByteSource> held_bytes(std::unique_ptr<ByteSource> inner, Held held) {
  return std::make_unique<HeldBytes>(std::move(inner), std::move(held));
}
std::unique_ptr<ByteSource> counted_in(std::unique_ptr<ByteSource> inner,
                                       std::shared_ptr<Entry> entry) {
  return std::make_unique<CountedBytes>(std::move(inner), std::move(entry));
}
std::unique_ptr<TreeSource> counted_in(std::unique_ptr<TreeSource> inner,
                                       std::shared_ptr<Entry> entry) {
  return std::make_unique<CountedTree>(std::move(inner), std::move(entry));
}
std::unique_ptr<TreeSource> held_tree(std::unique_ptr<TreeSource> inner, Held held) {
  return std::make_unique<HeldTree>(std::move(inner), std::move(held));
}

}  // namespace cay::core
