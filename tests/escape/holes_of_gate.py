"""The checks of the gate, each taken out alone. See holes.py.

They are about the host that first bytes name, how strictly they are read, the address that is
dialled, and the names that are looked up.
"""

FIRST, FLOW, REQUESTS = "gate/first_bytes.cc", "gate/inspectors.cc", "gate/requests.cc"
OTHER = " return {.state = State::kOther};"
OTHER_BELOW = "\n    return {.state = State::kOther};"


def unless(name, file, condition, result):
    """The hole lets by what `condition` refuses."""
    hole = f'!cay_hole("{name}")'
    return name, file, f"if ({condition}){result}", f"if ({hole} && ({condition})){result}"


NOBODY, NO_REQUEST = "a name must be shown", "what is no request is refused"
PINNED = "an address that is not the name's is not dialled"
BARE = "    out.proof = Proof::kNone;\n    check_address(out);\n    co_return false;\n  }\n"
GATE = (
    # The host that the first bytes name.
    (
        "the name shown in TLS is judged",
        FLOW,
        "  for (;;) {\n    policy::Verdict verdict;\n",
        "  policy::Verdict open;\n  open.says = policy::Verdict::Says::kYes;\n"
        '  if (out.proof == Proof::kTls && cay_hole("the name shown in TLS is judged")) co_return '
        "open;\n  for (;;) {\n    policy::Verdict verdict;\n",
    ),
    (
        "the name shown as Host is judged",
        FLOW,
        'cay_hole("the name shown in TLS is judged")) co_return open;\n',
        'cay_hole("the name shown in TLS is judged")) co_return open;\n'
        '  if (out.proof == Proof::kHttp && cay_hole("the name shown as Host is judged")) '
        "co_return open;\n",
    ),
    (
        NOBODY,
        FLOW,
        "  if (!shown || shown->state != Shown::State::kName) {\n    const bool nobody",
        f'  if (shown && shown->state == Shown::State::kNone && cay_hole("{NOBODY}")) {{\n{BARE}'
        "  if (!shown || shown->state != Shown::State::kName) {\n    const bool nobody",
    ),
    (
        NO_REQUEST,
        FLOW,
        "  if (!shown || shown->state != Shown::State::kName) {\n    const bool nobody",
        f"  if (shown && shown->state == Shown::State::kOther && proof == Proof::kHttp && "
        f'cay_hole("{NO_REQUEST}")) {{\n{BARE}'
        "  if (!shown || shown->state != Shown::State::kName) {\n    const bool nobody",
    ),
    (
        NOBODY,
        REQUESTS,
        "if (shown.state != Shown::State::kName) return",
        f"if (shown.state != Shown::State::kName && !(shown.state == Shown::State::kNone && "
        f'cay_hole("{NOBODY}"))) return',
    ),
    (
        NOBODY,
        "gate/connection_relay.cc",
        "if (hosts.back().name == host && hosts.back().facts.shown)",
        f"if ((hosts.back().name == host && hosts.back().facts.shown) || (host.empty() && "
        f'cay_hole("{NOBODY}")))',
    ),
    # The address that is dialled.
    (PINNED, FLOW, "    if (!same) {\n", f'    if (!same && !cay_hole("{PINNED}")) {{\n'),
    (
        PINNED,
        FLOW,
        "    if (found.addresses.empty()) {\n",
        f'    if (found.addresses.empty() && !cay_hole("{PINNED}")) {{\n',
    ),
    (
        "special ranges are refused",
        "base/ip_address.cc",
        "bool is_special(const IpAddress& address) {\n",
        'bool is_special(const IpAddress& address) {\n  if (cay_hole("special ranges are '
        'refused")) return false;\n',
    ),
    (
        "this host's own addresses are refused",
        "gate/reachable.cc",
        "return *kind == os::RouteKind::kUnicast ||",
        'return cay_hole("this host\'s own addresses are refused") || *kind == '
        "os::RouteKind::kUnicast ||",
    ),
    (
        "an address in a name's place is no name",
        "gate/egress_policy.cc",
        "  const bool is_no_name = out.allowed()",
        '  const bool is_no_name = !cay_hole("an address in a name\'s place is no name") && '
        "out.allowed()",
    ),
    (
        "what is open is judged again",
        "gate/sandbox_egress.cc",
        "      if (verdict.allowed() && was_inspected) continue;\n",
        '      if ((verdict.allowed() && was_inspected) || cay_hole("what is open is judged '
        'again")) continue;\n',
    ),
    # How strictly a request's head is read: the hole reads it as a lenient server does.
    (
        "a target is a path",
        FIRST,
        "(line[blank + 1] != '/' && line[blank + 1] != '*')",
        "(line[blank + 1] != '/' && line[blank + 1] != '*' && !cay_hole(\"a target is a path\"))",
    ),
    (
        "CONNECT is refused",
        FIRST,
        '||\n      method == "CONNECT")',
        '||\n      (method == "CONNECT" && !cay_hole("CONNECT is refused")))',
    ),
    unless(
        "a request is of HTTP/1",
        FIRST,
        "blank == std::string_view::npos ||\n"
        '      !(line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0"))',
        OTHER_BELOW,
    ),
    unless("a request is of HTTP/1", FIRST, "line.find(' ', blank + 1) != line.rfind(' ')", OTHER),
    unless(
        "no line end within a request line",
        FIRST,
        "!std::ranges::all_of(line, [](char c) { return c >= ' ' && c != 0x7f; })",
        OTHER_BELOW,
    ),
    (
        "no folded lines",
        FIRST,
        "    if (field.empty() || field.front() == ' '",
        "    if (!field.empty() && (field.front() == ' ' || field.front() == '\\t') && "
        'cay_hole("no folded lines")) continue;\n'
        "    if (field.empty() || field.front() == ' '",
    ),
    (
        "no line end and no zero in a field",
        FIRST,
        'field.find_first_of(std::string_view("\\r\\n\\0", 3)) != std::string_view::npos',
        '(field.find_first_of(std::string_view("\\r\\n\\0", 3)) != std::string_view::npos && '
        '!cay_hole("no line end and no zero in a field"))',
    ),
    unless(
        "no blank in a field's name",
        FIRST,
        "!std::ranges::all_of(field.substr(0, colon), [](char c) { return c > ' ' && c < 0x7f; })",
        "\n      return {.state = State::kOther};",
    ),
    (
        "one Host, where the last would count",
        FIRST,
        "    if (host) return {",
        '    if (host && !cay_hole("one Host, where the last would count")) return {',
    ),
    (
        "one Host, where the first would count",
        FIRST,
        '    if (host && !cay_hole("one Host, where the last',
        '    if (host && cay_hole("one Host, where the first would count")) continue;\n    if '
        '(host && !cay_hole("one Host, where the last',
    ),
    (
        "what no name has is in no Host",
        FIRST,
        "  const bool fine =\n      !host.empty()",
        "  const auto stop = std::ranges::find_if_not(host, [](char c) { return (lower(c) >= 'a' "
        "&& lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'; });\n"
        '  if (cay_hole("what no name has is in no Host")) host = host.substr(0, '
        "static_cast<std::size_t>(stop - host.begin()));\n"
        "  const bool fine =\n      !host.empty()",
    ),
    # And its body.
    (
        "a body has one length",
        REQUESTS,
        "  if (out.chunked && (has_length ||",
        '  if (has_length && cay_hole("a body has one length")) out.chunked = false;\n  if '
        "(out.chunked && (has_length ||",
    ),
    (
        "no body where many read none",
        REQUESTS,
        "  if (out.has_body() && takes_no_body(",
        '  if (!cay_hole("no body where many read none") && out.has_body() && takes_no_body(',
    ),
    (
        "no extensions of chunks",
        REQUESTS,
        "  const std::string_view end = here.substr(digits, kLineEnd.size());\n",
        '  if (digits > 0 && cay_hole("no extensions of chunks")) {\n    const std::size_t stop '
        "= here.find(kLineEnd);\n"
        "    if (stop == here.npos) return {};\n    std::from_chars(here.data(), here.data() + "
        "digits, left_, 16);\n"
        "    at_ = left_ > 0 ? At::kChunk : At::kLastChunk;\n    return give(stop + "
        "kLineEnd.size());\n  }\n"
        "  const std::string_view end = here.substr(digits, kLineEnd.size());\n",
    ),
    (
        "no trailers",
        REQUESTS,
        "Requests::Part Requests::line_end(At then) {\n",
        "Requests::Part Requests::line_end(At then) {\n"
        '  if (at_ == At::kLastChunk && !waiting().starts_with("\\r") && cay_hole("no '
        'trailers")) {\n    const std::size_t stop = waiting().find("\\r\\n\\r\\n");\n'
        "    if (stop == waiting().npos) return {};\n    at_ = then;\n    return give(stop + "
        "4);\n  }\n",
    ),
    # The names that are looked up.
    (
        "the policy decides before a name is looked up",
        "gate/dns_proxy.cc",
        "if (!verdict.allowed() && !(question->plain && of_rule))",
        'if (!cay_hole("the policy decides before a name is looked up") && !verdict.allowed() && '
        "!(question->plain && of_rule))",
    ),
    (
        "a wildcard begins with its dot",
        "policy/rule.cc",
        "name[name.size() - word.size() - 1] == '.';",
        "(name[name.size() - word.size() - 1] == '.' || cay_hole(\"a wildcard begins with its "
        'dot"));',
    ),
    (
        "a wildcard is the end of a name",
        "policy/rule.cc",
        "name.size() > word.size() + 1 && name.ends_with(word)",
        'name.size() > word.size() + 1 && (name.ends_with(word) || (cay_hole("a wildcard is the '
        'end of a name") && name.find(word) != name.npos))',
    ),
)
