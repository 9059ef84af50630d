"""One bug for each fuzz target, put into a copy of the sources: what a run must find, or its silence says nothing.

(target, file under src/, what the bug is, what stands there, what stands there instead). They are of the kinds that such decoders
have had: a length believed, a check forgotten, an end off by one, a state that outlives its cause. What stands there must stand
there once: a decoder that changes takes its bug along, or the run fails."""

BUGS = (
    ("dns", "gate/dns_message.cc", "a label's length is not held against what came",
     "if (length > kMostLabel || at + length > bytes.size() ||", "if (length > kMostLabel ||"),
    ("client_hello", "gate/first_bytes.cc", "a record's head is read before it is there", "if (rest.size() < kRecordHead) return out;", ""),
    ("first_request", "gate/first_bytes.cc", "of two Hosts the last counts", "    if (host) return {State::kOther, {}};\n", ""),
    ("requests", "gate/requests.cc", "a chunk's size is taken before its line has ended", "  if (end.size() < kLineEnd.size()) return {};\n  std::from_chars(", "  std::from_chars("),
    ("hellos", "gate/first_answer.cc", "a record's head is read before it is there", "    if (rest.size() < kRecordHead) return FirstAnswer::kMore;\n", ""),
    ("http_target", "http/target.cc", "a NUL in an escape passes", "    if (c == '\\0') return std::nullopt;\n", ""),
    ("http_request", "http/request_head.cc", "any method may ask for an upgrade", 'head.method == "GET" && request.version()', "request.version()"),
    ("http_answer", "http/upstream.cc", "what follows an answer is taken into it",
     "    wire.in.resize(static_cast<std::size_t>(wire.left_in));\n    wire.keep = false;\n  }\n  wire.left_in -= wire.in.size();",
     "    wire.keep = false;\n  }\n  wire.left_in -= std::min<std::uint64_t>(wire.left_in, wire.in.size());"),
    ("websocket", "http/socket.cc", "a message may be twice its limit", "read_message_max(max_message)", "read_message_max(max_message * 2)"),
    ("socket_frames", "api/gateway/socket_frames.cc", "a head that is cut is taken for a whole one",
     "if (head_.size() < head_size(head_)) continue;", "if (head_.size() < head_size(head_) && !bytes.empty()) continue;"),
    ("service_head", "api/gateway/headers.cc", "the cookie of https reaches the service", "if (!is_our_cookie(pair.name)) out +=", "if (pair.name != kPlainCookie) out +="),
    ("yamux", "api/langsmith/yamux.cc", "more than the window is taken", "if (header.length > stream.receive_window ||", "if (header.length / 2 > stream.receive_window ||"),
    ("tar", "api/common/tar_path.cc", "'..' is looked for at the beginning alone", 'if (part == "..") return unsafe(', 'if (part == ".." && out.empty()) return unsafe('),
    ("unpack", "client/tar_unpack.cc", "a setuid bit is kept", "archive_entry_perm(entry) & 0777) != 0)", "archive_entry_perm(entry) & 07777) != 0)"),
    ("multipart", "api/common/ranges.cc", "a range may end one behind the file", "std::min(*last, size - 1)}};", "std::min(*last, size)}};"),
    ("json", "codec/model_read.cc", "an empty argv passes", """  if (has_argv && spec.argv.empty()) fields.complain("argv", "must name a program");\n""", ""),
    ("text", "codec/base64.cc", "bits that encode nothing are passed over", "if ((bits & ((1u << have) - 1)) != 0) return std::nullopt;", ""),
    ("wire_frames", "wire/frame.cc", "a frame's length is held against what came without its own four bytes",
     "if (in.size() < 4 + std::size_t{length}) return std::nullopt;", "if (in.size() < std::size_t{length}) return std::nullopt;"),
    ("wire_messages", "wire/tlv.h", "a member's length is not held against what is left", "      if (len > in_.size()) return fail();\n", ""),
    ("vault_frames", "wire/vault_frame.cc", "a frame's length is held against what came with its own four bytes",
     "if (have.size() < kLength + size) return", "if (have.size() < size) return"),
    ("spool_layout", "wire/spool_layout.cc", "a ring's piece may be longer than the stream",
     "room = std::min(room, stream.ring_begin + stream.ring_size - position);", "room = stream.ring_begin + stream.ring_size - position;"),
    ("spool_record", "wire/checked_frame.cc", "a sum is not compared", "if (fnv1a(payload) != take(file.substr(4), 8)) return std::nullopt;", ""),
    ("program_record", "wire/program_record.cc", "a path may be longer than the text it is in", "      event.path_size > event.text_size || event.kind <", "      event.kind <"),
    ("decision_log", "wire/decision_log.cc", "numbers need not grow", "if (out.closed || mark->number <= out.last || mark->number", "if (out.closed || mark->number"),
    ("guest_user", "keeper/guest_user.cc", "one field too many is cut out", "if (count < kFields) fields[count++]", "if (count <= kFields) fields[count++]"),
    ("guest_names", "keeper/text.cc", "a character's rest is read where there is none", "return i < in.size() && (at(i) & 0xc0) == 0x80;", "return (at(i) & 0xc0) == 0x80;"),
    ("request_path", "vault/request_path.cc", "an escape of a slash is taken", 'std::string_view("/\\\\.%?#").find(c)', 'std::string_view("\\\\.%?#").find(c)'),
    ("policy_rules", "policy/cover.cc", "a name is taken to be within any rule of the operator's", "if (inner.kind == Kind::kName) return outer.matches_name(inner.word);", "if (inner.kind == Kind::kName) return true;"),
)
