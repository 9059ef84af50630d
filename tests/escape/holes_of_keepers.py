"""What the daemon checks of what a keeper says, passes and keeps, each taken out alone. See
holes.py."""

LINK, FRAMES, PASSED, SPOOL = (
    "runtime/keeper/link.cc",
    "wire/frame.cc",
    "runtime/native/passed_tunnels.cc",
    "runtime/native/spool_files.cc",
)
KEEPERS = (
    # The limits of a frame.
    (
        "lengths of frames are bounded",
        FRAMES,
        "length > kFrameHead + most_payload_)",
        '(length > kFrameHead + most_payload_ && !cay_hole("lengths of frames are bounded")))',
    ),
    (
        "an impossible length ends the connection",
        FRAMES,
        "    bad_ = true;\n    return std::nullopt;\n",
        '    if (cay_hole("an impossible length ends the connection")) {\n'
        "      if (in.size() < kHeaderBytes) return std::nullopt;\n"
        "      begin_ += kHeaderBytes;  // as if that frame had nothing in it\n"
        "      return next();\n"
        "    }\n"
        "    bad_ = true;\n"
        "    return std::nullopt;\n",
    ),
    (
        "HELLO comes first",
        LINK,
        "  if (!theirs_) {\n    take_hello(frame);",
        '  if (!theirs_ && !(cay_hole("HELLO comes first") && frame.type != '
        "static_cast<std::uint16_t>(wire::Type::kHello))) {\n"
        "    take_hello(frame);",
    ),
    (
        "events come on channel 0",
        LINK,
        "  if (frame.channel == 0) {",
        '  if (frame.channel == 0 || (cay_hole("events come on channel 0") && frame.type == '
        "static_cast<std::uint16_t>(wire::Type::kNote))) {",
    ),
    # The limits of its output.
    (
        "output comes under credit",
        LINK,
        "if (data->bytes.size() > state->credit) {",
        'if (data->bytes.size() > state->credit && !cay_hole("output comes under credit")) {',
    ),
    (
        "output comes under credit",
        LINK,
        "state->credit -= data->bytes.size();",
        "state->credit -= std::min<std::uint64_t>(state->credit, data->bytes.size());",
    ),
    # Its reports about commands.
    (
        "an end is on record once",
        "core/command_log.cc",
        "    // A note follows that of its start. So the journal has this end.\n",
        '    if (cay_hole("an end is on record once")) return note_end(entry, command, '
        "OpenCommand{entry.row.id, command.id, command.started_at, {}}, mark);\n",
    ),
    (
        "names of commands are checked",
        "runtime/keeper/convert.cc",
        "if (!is_valid_command_id(message.command_id)) return false;",
        'if (!is_valid_command_id(message.command_id) && !cay_hole("names of commands are '
        'checked")) return false;',
    ),
    # The descriptors that it passes, lends and keeps.
    (
        "what is passed must be a TCP socket",
        PASSED,
        "option(SO_PROTOCOL) != IPPROTO_TCP) return breach(",
        'option(SO_PROTOCOL) != IPPROTO_TCP) if (!cay_hole("what is passed must be a TCP '
        'socket")) return breach(',
    ),
    (
        "what was not asked for is closed",
        PASSED,
        "    desk.reader.feed(received->bytes);\n",
        '    for (std::size_t i = 1; cay_hole("what was not asked for is closed") && i < '
        "received->fds.size(); ++i) static_cast<void>(received->fds[i].release());\n"
        "    desk.reader.feed(received->bytes);\n",
    ),
    (
        "the gate goes by the socket's name",
        "gate/gate.cc",
        "lent && lent->sandbox_id == id && (",
        'lent && (lent->sandbox_id == id || cay_hole("the gate goes by the socket\'s name")) && (',
    ),
    (
        "the spool is read without following links",
        SPOOL,
        "UniqueFd fd(::openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK",
        'UniqueFd fd(::openat(dir, name, O_RDONLY | (cay_hole("the spool is read without '
        'following links") ? 0 : O_NOFOLLOW) | O_NONBLOCK',
    ),
    (
        "what is in the spool is the keeper's own",
        SPOOL,
        "facts.st_uid != around.st_uid) {",
        "(facts.st_uid != around.st_uid && !cay_hole(\"what is in the spool is the keeper's "
        'own"))) {',
    ),
)
