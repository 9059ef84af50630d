"""A product with holes: each the check behind a protection, taken out of a copy of its sources. A
control tries its attack on the daemon that lacks exactly that, named by CAY_HOLES; the product
itself has no such switch.

Only what can be taken out is here: an absence (a link carries no path that could be changed) and
another's parser (Beast's, of HTTP) have controls of another kind."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

import source_patch
from holes_of_files import FILES
from holes_of_gate import GATE
from holes_of_keepers import KEEPERS
from holes_of_vault import VAULT

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The text that is replaced, and its replacement. `cay_hole("…")` is true in a daemon that was
# started with that hole.
HOLES = (
    (
        "API key",
        "server/dispatch.cc",
        "      if (!found) {\n",
        '      if (!found && cay_hole("API key")) found = Principal{.tenant = '
        'TenantId("default"), .key_name = "default", .scope = KeyScope::kAdmin};\n'
        "      if (!found) {\n",
    ),
    (
        "API key",
        "server/dispatch.cc",
        "if (config_.open != nullptr) {",
        "if (config_.open != nullptr && key) {",
    ),
    (
        "scopes",
        "server/dispatch.cc",
        "principal = std::move(*found);",
        "principal = std::move(*found);\n"
        '      if (cay_hole("scopes")) { principal.scope = KeyScope::kAdmin; '
        "principal.only.reset(); }",
    ),
    (
        "tenant of the key",
        "server/dispatch.cc",
        "principal.tenant.get();\n      auto in",
        "principal.tenant.get();\n"
        '      if (cay_hole("tenant of the key")) principal.tenant = TenantId("default");\n'
        "      auto in",
    ),
    (
        "check of Host",
        "server/dispatch.cc",
        "if (auto wrong = check_host(head, config_.hosts)) {",
        'if (auto wrong = check_host(head, config_.hosts); wrong && !cay_hole("check of Host")) {',
    ),
    (
        "check of Origin",
        "server/dispatch.cc",
        "if (auto wrong = check_origin(head, rule)) {",
        'if (auto wrong = check_origin(head, rule); wrong && !cay_hole("check of Origin")) {',
    ),
    (
        "the API is never under a service's host",
        "server/dispatch.cc",
        "if (config_.by_host) {",
        'if (config_.by_host && !cay_hole("the API is never under a service\'s host")) {',
    ),
    (
        "expiry of keys",
        "server/key_ring.cc",
        "if (!in_time) {",
        'if (!in_time && !cay_hole("expiry of keys")) {',
    ),
    (
        "removal and rotation of keys",
        "server/key_ring.cc",
        "  bool in_time = false, was_rotated = false;\n  for (const auto& record : records_) {",
        "  bool in_time = false, was_rotated = false;\n  static std::vector<KeyRecord> ever;\n"
        "  for (const auto& one : records_) {\n"
        "    if (std::ranges::none_of(ever, [&](const KeyRecord& known) { return "
        "equal_hashes(known.hash, one.hash); })) ever.push_back(one);\n"
        "  }\n"
        '  for (const auto& record : cay_hole("removal and rotation of keys") ? ever : records_) {',
    ),
    (
        "one proper Host",
        "http/request_head.cc",
        "if (hosts > 1 ||",
        'if (!cay_hole("one proper Host") && (hosts > 1 ||',
    ),
    (
        "one proper Host",
        "http/request_head.cc",
        '!is_host(head.host)) {\n    return bad(400, "bad_host"',
        '!is_host(head.host))) {\n    return bad(400, "bad_host"',
    ),
    (
        "one proper Host",
        "http/request_head.cc",
        "if (!is_host(head.host)) return bad(",
        'if (!cay_hole("one proper Host") && !is_host(head.host)) return bad(',
    ),
    (
        "a length is one number",
        "http/request_head.cc",
        "headers.get(\"Content-Length\")->find(',') != std::string_view::npos)",
        'headers.get("Content-Length")->find(\',\') != std::string_view::npos && !cay_hole("a '
        'length is one number"))',
    ),
    (
        "bounds of headers",
        "http/listener.cc",
        "parser.header_limit(config.max_head);",
        'parser.header_limit(cay_hole("bounds of headers") ? 64u << 20 : config.max_head);',
    ),
    (
        "bounds of headers",
        "http/listener.cc",
        "ClientConnection& client) {\n    ReadBuffer buffer(kMaxBuffer);",
        "ClientConnection& client) {\n"
        '    ReadBuffer buffer(cay_hole("bounds of headers") ? 64u << 20 : kMaxBuffer);',
    ),
    (
        "bounds of bodies",
        "http/body_reader.cc",
        "Task<std::string> BodyReader::read_all(std::size_t limit) {\n",
        "Task<std::string> BodyReader::read_all(std::size_t limit) {\n"
        '  if (cay_hole("bounds of bodies")) limit = std::size_t{1} << 40;\n',
    ),
    (
        "bounds of JSON",
        "codec/json.cc",
        "options.max_depth = kMaxDepth;",
        'options.max_depth = cay_hole("bounds of JSON") ? std::size_t{1} << 30 : kMaxDepth;',
    ),
    (
        "checked names",
        "core/validate.cc",
        "Result<void> check_name(const std::string& name) {\n",
        "Result<void> check_name(const std::string& name) {\n"
        '  if (cay_hole("checked names")) return {};\n',
    ),
    (
        "checked names",
        "core/boot.cc",
        # The launcher looks at host names itself.
        "  spec.hostname = hostname_of(row.name);\n",
        '  spec.hostname = cay_hole("checked names") ? "odd" : hostname_of(row.name);\n',
    ),
    (
        "checked paths",
        "core/validate.cc",
        "Result<void> check(const RunConfig& run) {\n",
        "Result<void> check(const RunConfig& run) {\n"
        '  if (cay_hole("checked paths")) return check_env(run.env);\n',
    ),
    (
        "bounds of limits",
        "core/validate.cc",
        "if (value < least || value > most) {",
        'if ((value < least || value > most) && !cay_hole("bounds of limits")) {',
    ),
    (
        "room on the host",
        "core/admission.cc",
        "if (memory_limit() != 0 && memory + ",
        'if (!cay_hole("room on the host") && memory_limit() != 0 && memory + ',
    ),
    (
        "room on the host",
        "core/admission.cc",
        "if (memory_limit() != 0 && want",
        'if (!cay_hole("room on the host") && memory_limit() != 0 && want',
    ),
    (
        "token of the link",
        "core/links.cc",
        "  const auto read = read_link_token(token);\n",
        '  if (cay_hole("token of the link")) {\n'
        "    for (const auto& [id, kept] : links_[sandbox]) {\n"
        "      if (kept.link.spec.port == port) return OpenLink{kept.link, kept.ended};\n"
        "    }\n"
        "  }\n"
        "  const auto read = read_link_token(token);\n",
    ),
    (
        "a run's id is a UUID",
        "api/langsmith/routes.cc",
        'return is_uuid(exchange->params().at("id")) ?',
        'return cay_hole("a run\'s id is a UUID") || is_uuid(exchange->params().at("id")) ?',
    ),
    (
        "token of the link",
        "api/gateway/gateway.cc",
        "  const std::string by_header = ",
        '  if (cay_hole("token of the link")) return use("", place);\n'
        "  const std::string by_header = ",
    ),
    (
        "a link is for one port",
        "core/links.cc",
        "kept.link.spec.port != port)",
        '(kept.link.spec.port != port && !cay_hole("a link is for one port")))',
    ),
    (
        "a link is for one sandbox",
        "core/links.cc",
        "  const auto of_one = links_.find(sandbox);\n"
        "  if (of_one == links_.end()) return unknown_link();\n",
        '  auto of_one = links_.find(sandbox);\n  if (cay_hole("a link is for one sandbox")) {\n'
        "    of_one = std::find_if(links_.begin(), links_.end(), [&](const auto& one) { return "
        "one.second.contains(read->id); });\n"
        "  }\n"
        "  if (of_one == links_.end()) return unknown_link();\n",
    ),
    (
        "expiry of links",
        "core/links.cc",
        "bool LinkVerbs::expired(const Link& link) const {\n",
        "bool LinkVerbs::expired(const Link& link) const {\n"
        '  if (cay_hole("expiry of links")) return false;\n',
    ),
    (
        "withdrawal of links",
        "core/links.cc",
        "co_return erase(of_one->second, {id});",
        'if (cay_hole("withdrawal of links")) co_return Result<void>();\n'
        "  co_return erase(of_one->second, {id});",
    ),
    (
        "a link ends with its key",
        "api/gateway/gateway.cc",
        "if (!config_.key_lives(link.link)) {",
        'if (!config_.key_lives(link.link) && !cay_hole("a link ends with its key")) {',
    ),
    (
        "by path only a header opens",
        "api/gateway/gateway.cc",
        "link_of(head, *place, false)",
        'link_of(head, *place, cay_hole("by path only a header opens"))',
    ),
    (
        "a service's host ends with the domain",
        "api/common/service_names.cc",
        "  if (host.starts_with('[')) return {};\n",
        "  if (host.starts_with('[')) return {};\n"
        '  if (const auto end = host.find(".localhost"); cay_hole("a service\'s host ends with '
        'the domain") && end != host.npos) host = host.substr(0, end + 10);\n',
    ),
    (
        "check of Origin",
        "api/gateway/headers.cc",
        "return origin && *origin != head",
        'return origin && !cay_hole("check of Origin") && *origin != head',
    ),
    (
        "check of Sec-Fetch-Site",
        "api/gateway/headers.cc",
        'if (site && *site != "same-origin"',
        'if (!cay_hole("check of Sec-Fetch-Site") && site && *site != "same-origin"',
    ),
    (
        "headers are written anew",
        "api/gateway/headers.cc",
        "    const std::string read = as_programs_read(name);\n",
        "    const std::string read = as_programs_read(name);\n"
        '    const bool framing = equals_ignoring_case(read, "Host") || '
        'equals_ignoring_case(read, "Connection") || equals_ignoring_case(read, "Content-Length") '
        "|| "
        'equals_ignoring_case(read, "Transfer-Encoding");\n'
        '    if (!framing && cay_hole("headers are written anew")) {\n'
        "      out.add(name, value);\n"
        "      continue;\n"
        "    }\n",
    ),
    (
        "what reaches beyond the service's host is dropped",
        "api/gateway/headers.cc",
        "    if (is_hop(name, declared) || reaches_further(name)) continue;\n",
        "    if (!is_hop(name, declared) && cay_hole(\"what reaches beyond the service's host is "
        'dropped")) {\n'
        "      out.add(name, value);\n"
        "      continue;\n"
        "    }\n"
        "    if (is_hop(name, declared) || reaches_further(name)) continue;\n",
    ),
    (
        "each request is judged",
        "gate/connection_relay.cc",
        "        if (why_not != nullptr) co_return Then::kRefused;\n",
        '        if (why_not != nullptr && !cay_hole("each request is judged")) co_return '
        "Then::kRefused;\n",
    ),
    (
        "a body ends its connection",
        "gate/requests.cc",
        "if (framing->has_body() || asks_for_other)\n    out.bytes",
        'if ((framing->has_body() && !cay_hole("a body ends its connection")) || '
        "asks_for_other)\n    out.bytes",
    ),
    (
        "no protocol but a WebSocket is asked for",
        "gate/requests.cc",
        "is_websocket = !out.asks_to_switch && equals_ignoring_case",
        'is_websocket = cay_hole("no protocol but a WebSocket is asked for") || '
        "(!out.asks_to_switch && equals_ignoring_case",
    ),
    (
        "no protocol but a WebSocket is asked for",
        "gate/requests.cc",
        '(!out.asks_to_switch && equals_ignoring_case(value, "websocket");',
        '(!out.asks_to_switch && equals_ignoring_case(value, "websocket"));',
    ),
    (
        "a body ends its connection",
        "http/upstream.cc",
        "request.keep && !request.has_body() &&",
        'request.keep && (cay_hole("a body ends its connection") || !request.has_body()) &&',
    ),
    (
        "bodies where servers read none",
        "vault/request_inspector.cc",
        "if (!parser.is_done() && gate::takes_no_body(asked.method)) {",
        'if (!parser.is_done() && gate::takes_no_body(asked.method) && !cay_hole("bodies where '
        'servers read none")) {',
    ),
    (
        "the second ClientHello is judged",
        "gate/connection_relay.cc",
        "if (named ? shown->host != host : shown->state != Shown::State::kNone || names_somebody) "
        "{",
        "if ((named ? shown->host != host : shown->state != Shown::State::kNone || "
        'names_somebody) && !cay_hole("the second ClientHello is judged")) {',
    ),
    (
        "what names a host is judged at any port",
        "gate/inspectors.cc",
        "out.inspect_late = state_.policy.depends_on_names(meant);",
        'out.inspect_late = state_.policy.depends_on_names(meant) && !cay_hole("what names a '
        'host is judged at any port");',
    ),
    (
        "root works through no link",
        "os/file.cc",
        "O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));\n"
        '  if (!fd) return last_error("open", path);',
        'O_RDONLY | O_DIRECTORY | O_CLOEXEC | (cay_hole("root works through no link") ? 0 : '
        "O_NOFOLLOW)));\n"
        '  if (!fd) return last_error("open", path);',
    ),
    (
        "what root trusts is root's own",
        "os/file.cc",
        '  if (info.st_uid != uid) {\n    return Error{Code::kPermissionDenied, "unsafe_directory"',
        '  if (info.st_uid != uid && !cay_hole("what root trusts is root\'s own")) {\n'
        '    return Error{Code::kPermissionDenied, "unsafe_directory"',
    ),
    (
        "nothing of root's is given away",
        "launcher/gate_directory.cc",
        "info.st_uid != uid && info.st_uid != 0) {",
        "info.st_uid != uid && (info.st_uid != 0 || cay_hole(\"nothing of root's is given "
        'away"))) {',
    ),
    (
        "new names are bounded",
        "gate/dns_proxy.cc",
        "  if (!state_.journal.may_look_up(question->name)) {",
        '  if (!cay_hole("new names are bounded") && '
        "!state_.journal.may_look_up(question->name)) {",
    ),
    *FILES,
    *GATE,
    *KEEPERS,
    *VAULT,
)
NAMES = {name for name, *_ in HOLES}
# The launcher is a program of its own, which `cay` has in it; with holes it also stands beside
# that. Keepers and their helpers are its children.
OF_THE_LAUNCHER = ("launcher/", "keeper/", "os/")
OF_IT_ALONE = ("keeper/", "launcher/init_process.cc", "launcher/keeper_process.cc")
ITS_OWN = {
    name
    for name in NAMES
    if all(file.startswith(OF_IT_ALONE) for one, file, *_ in HOLES if one == name)
}
# Facts of a keeper or an init from its start on: each such set needs sandboxes of its own.
FROM_BIRTH = {name for name, file, *_ in HOLES if file in OF_IT_ALONE}
# The gate and the broker are started with no environment but a path: the chosen holes are passed on
# to them.
PASSED_ON = (
    (
        "../apps/cay/role_process.cc",
        "  char* envp[] = {path.data(), nullptr};\n",
        '  const char* asked = std::getenv("CAY_HOLES");\n'
        '  std::string holes = std::string("CAY_HOLES=") + (asked != nullptr ? asked : "");\n'
        "  char* envp[] = {path.data(), holes.data(), nullptr};\n",
    ),
    # The launcher lives on, as its keepers do: the chosen holes are in a file that they have
    # mapped.
    (
        "../apps/cay/launcher_process.cc",
        "  char* envp[] = {path.data(), nullptr};\n",
        '  const char* asked = std::getenv("CAY_HOLES_INSIDE");\n'
        '  std::string holes = std::string("CAY_HOLES_FILE=") + (asked != nullptr ? asked : "");\n'
        "  char* envp[] = {path.data(), holes.data(), nullptr};\n",
    ),
)
FILE_BYTES = 1 << 16
SWITCH = r"""#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
// Mapped at the start: who enters a sandbox later has no such path.
inline const char* const cay_holes_file = [] () -> const char* {
  const char* path = std::getenv("CAY_HOLES_FILE");
  const int fd = path != nullptr && *path != '\0' ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return nullptr;
  void* words = ::mmap(nullptr, 1 << 16, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return words != MAP_FAILED ? static_cast<const char*>(words) : nullptr;
}();
// Matches whole words only: "one Host" must not match "one Host and no other".
inline bool cay_hole(const char* name) {
  const char* asked = cay_holes_file != nullptr ? cay_holes_file : std::getenv("CAY_HOLES");
  return asked != nullptr && (";" + std::string(asked) + ";").find(";" + std::string(name)
      + ";") != std::string::npos;
}
// The sandbox's root, as a keeper has it open (holes_of_files.py).
inline int& cay_root() {
  static int root = -1;
  return root;
}
// Secrets as a careless relay knows them (holes_of_vault.py).
inline std::vector<std::string>& cay_secrets() {
  static std::vector<std::string> all;
  return all;
}
"""


def patched():
    """file -> its text with every hole in it. Fails where the source is not what was known here."""
    texts = {}
    for name, file, old, new in (*HOLES, *(("the environment", *one) for one in PASSED_ON)):
        text = texts.setdefault(file, (ROOT / "src" / file).read_text())
        found = source_patch.count_of(text, old)
        if found != 1:
            raise SystemExit(
                f"escape: src/{file} has changed: the code of '{name}' occurs {found} times"
                f" (tests/escape/holes.py): {old!r}"
            )
        texts[file] = source_patch.replaced(text, old, new)
    return texts


def made_of(command):
    words = shlex.split(command)
    return words[words.index("-o") + 1]


def units_of(commands, texts):
    """What is compiled -> the files with holes in it: itself, or those of a unity file
    (CAY_UNITY)."""
    among = {os.path.normpath(ROOT / "src" / file): file for file in texts}
    units = {}
    for compiled in commands:
        inner = [compiled]
        if "/Unity/" in compiled:
            inner = [
                os.path.normpath(one)
                for one in re.findall(
                    r'^#include "(.+)"$', pathlib.Path(compiled).read_text(), re.MULTILINE
                )
            ]
        if mine := {one: among[one] for one in inner if one in among}:
            units[compiled] = mine
    missing = set(texts) - {file for mine in units.values() for file in mine.values()}
    if missing:
        raise SystemExit(f"escape: no build compiles {sorted(missing)} (tests/escape/holes.py)")
    return units


def build(tree):
    """The program with holes, made of a build's own objects and commands; only what differs is
    compiled. `tree`: build/release or so."""
    place = tree / "holes"
    place.mkdir(exist_ok=True)
    switch = place / "hole.h"
    if not switch.exists() or switch.read_text() != SWITCH:  # all of it has that in it
        for made in place.glob("*.o"):
            made.unlink()
        switch.write_text(SWITCH)
    commands = {
        os.path.normpath(one["file"]): one["command"]
        for one in json.loads((tree / "compile_commands.json").read_text())
    }
    texts = patched()
    units = units_of(commands, texts)

    def copy_of(known_as):
        return place / os.path.relpath(known_as, ROOT).replace("/", "+")

    def compiled(unit):
        mine = units[unit]
        sources = {copy_of(known_as): texts[file] for known_as, file in mine.items()}
        if unit not in mine:
            text = pathlib.Path(unit).read_text()
            for known_as in mine:
                text = text.replace(f'"{known_as}"', f'"{copy_of(known_as)}"')
            sources[copy_of(unit)] = text
        source, made = copy_of(unit), pathlib.Path(f"{copy_of(unit)}.o")
        # The build's own object is as new as all that it includes.
        own = tree / made_of(commands[unit])
        if (
            made.exists()
            and all(one.exists() and one.read_text() == text for one, text in sources.items())
            and made.stat().st_mtime >= own.stat().st_mtime
        ):
            return made
        made.unlink(missing_ok=True)
        for one, text in sources.items():
            one.write_text(text)
        words = shlex.split(commands[unit])
        words[words.index("-o") + 1] = str(made)
        words[words.index(unit)] = str(source)
        around = [
            word
            for one in sorted({os.path.dirname(known_as) for known_as in mine})
            for word in ("-iquote", one)
        ]
        # Speed does not matter here.
        subprocess.run([*words, *around, "-O1", "-include", str(switch)], cwd=tree, check=True)
        return made

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = dict(zip(units, pool.map(compiled, units)))

    def linked(target, files, instead=None):
        # A symbol that an object defines is not taken from the archives, and one that is in none is
        # left out.
        mine = [unit for unit, holed in units.items() if set(files) & set(holed.values())]
        replaced = {made_of(commands[unit]) for unit in mine}
        link = subprocess.run(
            ["ninja", "-C", tree, "-t", "commands", target],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()[-1]
        words = [word for word in shlex.split(link) if word not in (":", "&&", *replaced)]
        at = words.index("-o") + 1
        words[at] = str(place / target)
        words = [(instead or {}).get(word, word) for word in words]
        subprocess.run(
            [*words[: at + 1], *(str(objects[unit]) for unit in mine), *words[at + 1 :]],
            cwd=tree,
            check=True,
        )
        return place / target

    launcher = linked("cay-launcher", [file for file in texts if file.startswith(OF_THE_LAUNCHER)])
    carried = commands[str(ROOT / "apps/cay/launcher_blob.S")]
    words = [
        re.sub(r"(?<=^-DCAY_LAUNCHER_PATH=).*", f'"{launcher}"', word)
        for word in shlex.split(carried)
    ]
    words[words.index("-o") + 1] = str(place / "launcher_blob.o")
    subprocess.run(words, cwd=tree, check=True)
    return linked(
        "cay",
        [file for file in texts if not file.startswith(OF_IT_ALONE)],
        {made_of(carried): str(place / "launcher_blob.o")},
    )


def ask_inside(path, asked):
    """Writes what the launcher, its keepers and their helpers have mapped: in place, as a shorter
    file would end them."""
    words = ";".join(sorted(asked)).encode()
    with open(path, "r+b" if path.exists() else "w+b") as file:
        file.write(words.ljust(FILE_BYTES, b"\0"))
