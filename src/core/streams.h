// Streams that keep their sandbox awake and its connection open for as long as they are read.
#pragma once
#include "core/wake.h"

namespace cay::core {

// `shown`: what command() gives, if the caller knows better than the reader (a start's answer).
std::unique_ptr<CommandReader> held_reader(std::unique_ptr<CommandReader> inner, Held held,
                                           std::optional<Command> shown = std::nullopt);
std::unique_ptr<ByteSource> held_bytes(std::unique_ptr<ByteSource> inner, Held held);
// Returns a source that counts its bytes for the sandbox's usage.
std::unique_ptr<ByteSource> counted_in(std::unique_ptr<ByteSource> inner,
                                       std::shared_ptr<Entry> entry);
std::unique_ptr<TreeSource> counted_in(std::unique_ptr<TreeSource> inner,
                                       std::shared_ptr<Entry> entry);
std::unique_ptr<TreeSource> held_tree(std::unique_ptr<TreeSource> inner, Held held);

}  // namespace cay::core
