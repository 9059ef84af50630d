#include "codec/program_json.h"

#include <algorithm>
#include <string>

#include "codec/base64.h"
#include "codec/model_json.h"
#include "codec/time.h"
#include "codec/utf8.h"

namespace cay::codec {
namespace {

constexpr std::int64_t kMicrosPerMilli = 1000;

std::string_view name_of(ProgramKind kind) {
  switch (kind) {
    case ProgramKind::kStart: return "start";
    case ProgramKind::kExec: return "exec";
    case ProgramKind::kEnd: return "end";
    case ProgramKind::kLife: return "life";
    case ProgramKind::kLost: return "lost";
    case ProgramKind::kFull: return "full";
  }
  return "";
}

void put_program(json::object& out, const ProgramEvent& event) {
  put_bytes(out, "path", event.path);
  const bool text =
      std::ranges::all_of(event.args, [](const std::string& arg) { return is_utf8(arg); });
  json::array args;
  for (const std::string& arg : event.args) args.emplace_back(text ? arg : base64(arg));
  out[text ? "args" : "args_base64"] = std::move(args);
  if (event.path_cut) out["path_cut"] = true;
  if (event.args_cut) out["args_cut"] = true;
  if (event.args_unread) out["args_unread"] = true;
}

void put_end(json::object& out, const ProgramEvent& event) {
  if (event.signal != 0) {
    out["signal"] = event.signal;
    out["core_dumped"] = event.core_dumped;
  } else {
    out["exit_code"] = event.exit_code;
  }
  out["oom_killed"] = event.oom_killed;
}

}  // namespace

json::object to_json(const ProgramEvent& event) {
  json::object out{{"offset", event.offset},
                   {"kind", name_of(event.kind)},
                   {"at", rfc3339(event.at_us / kMicrosPerMilli)},
                   {"at_us", event.at_us}};
  if (event.kind == ProgramKind::kLost) out["lost"] = event.lost;
  if (event.kind > ProgramKind::kEnd) return out;
  out["process"] = std::to_string(event.pid) + "-" + std::to_string(event.started_us);
  out["pid"] = event.pid;
  out["parent"] = event.parent;
  out["uid"] = event.uid;
  if (event.kind == ProgramKind::kExec) put_program(out, event);
  if (event.kind == ProgramKind::kEnd) put_end(out, event);
  return out;
}

json::object to_json(const ProgramPage& page) {
  json::array items;
  for (const auto& event : page.items) items.emplace_back(to_json(event));
  return {{"items", std::move(items)}, {"next_offset", page.next_offset}};
}

}  // namespace cay::codec
