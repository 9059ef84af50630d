"""What the broker checks, each taken out alone: of a request past its rule's methods and paths how
each spelling is read, of an answer what it lets go. See holes.py."""

FENCE, PATH, RULES, SCANNER, PASS = (
    "vault/request_filter.cc",
    "vault/request_path.cc",
    "vault/rules.cc",
    "vault/response_scanner.cc",
    "vault/pass_response.cc",
)
METHODS, PATHS = "the rule's methods count", "the rule's paths count"
BY_HEADER, BY_QUERY, OTHER_PATH = (
    "no header asks for another method",
    "no query asks for another method",
    "no header names another path",
)
DOTS, SLASHES, HIDDEN, BYTES = (
    "dot segments are resolved",
    "no empty segments",
    "no dots behind parameters",
    "a path is UTF-8",
)
DOT, SLASH, PERCENT, BACK = (
    "no escaped dots",
    "no escaped slashes",
    "no escaped percent signs",
    "no backslashes",
)
PAST = "nothing goes past a fence"
NOT_ASKED, NOT_TAKEN = "parts are not asked for", "parts are not taken"
EVERY, NO_GUESS, WHOLE = (
    "every secret that the host may know is looked for",
    "what is held back does not depend on what it is",
    "a silence lets go of what is whole alone",
)


def escaped(name, character, old):
    """An escape of that character is read, as if it were plain."""
    return name, PATH, old, f"({old} && !(c == '{character}' && cay_hole(\"{name}\")))"


REFUSED = 'std::string_view("/\\\\.%?#").find(c) != std::string_view::npos'
VAULT = (
    # The requests that a rule allows.
    (
        METHODS,
        FENCE,
        "return rule.methods.empty() ||",
        f'return rule.methods.empty() || cay_hole("{METHODS}") ||',
    ),
    (
        PATHS,
        FENCE,
        "return rule.paths.empty() ||",
        f'return rule.paths.empty() || cay_hole("{PATHS}") ||',
    ),
    (
        BY_HEADER,
        FENCE,
        "of_methods && (any_header(headers, kOverrides) ||",
        f'of_methods && ((any_header(headers, kOverrides) && !cay_hole("{BY_HEADER}")) ||',
    ),
    (
        BY_QUERY,
        FENCE,
        "|| query_overrides(query))) {",
        f'|| (query_overrides(query) && !cay_hole("{BY_QUERY}")))) {{',
    ),
    (
        OTHER_PATH,
        FENCE,
        "if (any_header(headers, kOtherPaths)) {",
        f'if (any_header(headers, kOtherPaths) && !cay_hole("{OTHER_PATH}")) {{',
    ),
    # How a path is read: with the hole as by who does not look, so that it seems to be one that the
    # rule has.
    escaped(DOT, ".", REFUSED),
    escaped(SLASH, "/", REFUSED),
    escaped(PERCENT, "%", REFUSED),
    (BACK, PATH, "text[i] == '\\\\' ||", f"(text[i] == '\\\\' && !cay_hole(\"{BACK}\")) ||"),
    (
        BYTES,
        PATH,
        "if (!codec::is_utf8(out.read)) return",
        f'if (!codec::is_utf8(out.read) && !cay_hole("{BYTES}")) return',
    ),
    (
        HIDDEN,
        PATH,
        "is_hidden_dots(segment->read) ||",
        f'(is_hidden_dots(segment->read) && !cay_hole("{HIDDEN}")) ||',
    ),
    (
        SLASHES,
        PATH,
        "(segment->read.empty() && !last))\n",
        f'(segment->read.empty() && !last && !cay_hole("{SLASHES}")))\n',
    ),
    (
        DOTS,
        PATH,
        'const bool here = segment->read == ".", up = segment->read == "..";',
        f'const bool here = segment->read == "." && !cay_hole("{DOTS}"), up = segment->read == '
        f'".." && !cay_hole("{DOTS}");',
    ),
    # Past the broker.
    (
        PAST,
        "gate/inspectors.cc",
        "    co_return fence ?",
        f'    co_return fence && !cay_hole("{PAST}") ?',
    ),
    (
        PAST,
        "gate/egress_state.cc",
        "  if (context.handover == nullptr) return false;\n",
        f'  if (context.handover == nullptr || cay_hole("{PAST}")) return false;\n',
    ),
    # The parts of a response that reach a sandbox.
    (
        NOT_ASKED,
        "model/proxy.cc",
        "    if (reads_as(name, own)) return true;\n",
        '    if (reads_as(name, own)) return !(std::string_view(own) == "Range" && '
        f'cay_hole("{NOT_ASKED}"));\n',
    ),
    (
        NOT_TAKEN,
        "vault/readable.cc",
        "  if (!part) return {};\n",
        f'  if (!part || cay_hole("{NOT_TAKEN}")) return {{}};\n',
    ),
    (
        EVERY,
        "vault/request_inspector.cc",
        '#include "vault/rules.h"\n',
        '#include "vault/request_filter.h"\n#include "vault/rules.h"\n',
    ),
    (
        EVERY,
        "vault/request_inspector.cc",
        "  CAY_CHECK(add_secrets_of(granted->grant));\n",
        "  wire::VaultGrant sought = granted->grant;\n"
        f'  if (cay_hole("{EVERY}")) std::erase_if(sought.rules, [&](const wire::VaultRule& rule) '
        f"{{\n"
        "    const auto filter =\n"
        "        RequestFilter::create({&rule}, asked.method, asked.target, asked.headers);\n"
        "    return !filter || !filter->allows(rule);\n  });\n"
        "  CAY_CHECK(add_secrets_of(sought));\n",
    ),
    (
        NO_GUESS,
        "vault/secret_encodings.cc",
        "  secret = secret.substr(0, kMostSought);\n",
        "  secret = secret.substr(0, kMostSought);\n"
        f'  if (cay_hole("{NO_GUESS}")) cay_secrets().emplace_back(secret);\n',
    ),
    (
        NO_GUESS,
        SCANNER,
        "  const std::size_t keep = std::min(piece.size(), secrets_.longest() - 1);\n",
        "  std::size_t keep = std::min(piece.size(), secrets_.longest() - 1);\n"
        f'  if (cay_hole("{NO_GUESS}")) {{\n'
        f"    const auto may_begin = [](std::string_view end) {{ return "
        f"std::ranges::any_of(cay_secrets(), [&](const std::string& one) {{ return "
        f"one.starts_with(end); }}); }};\n"
        "    while (keep > 0 && !may_begin(std::string_view(piece).substr(piece.size() - keep))) "
        "--keep;\n"
        "  }\n",
    ),
    (
        WHOLE,
        PASS,
        "    if (scanner.holds_boundary()) {\n",
        f'    const bool all = cay_hole("{WHOLE}");\n'
        f"    if (scanner.holds_boundary() || (all && scanner.holds_back())) {{\n",
    ),
    (
        WHOLE,
        PASS,
        "co_await take(scanner.release_to_boundary())",
        "co_await take(all ? scanner.release() : scanner.release_to_boundary())",
    ),
)
