// cay usage and cay rm: what was used, and an end to it.
#include <cstdio>
#include <memory>

#include "cli/answers.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

std::string fixed(double value, int digits) {
  char out[64];
  std::snprintf(out, sizeof out, "%.*f", digits, value);
  return out;
}

// "1h 02m 03s".
std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  if (whole < kMinute) return fixed(seconds, 1) + "s";
  char out[64];
  if (whole < kHour) {
    std::snprintf(out, sizeof out, "%lldm %02llds", static_cast<long long>(whole / kMinute),
                  static_cast<long long>(whole % kMinute));
  } else {
    std::snprintf(out, sizeof out, "%lldh %02lldm", static_cast<long long>(whole / kHour),
                  static_cast<long long>(whole % kHour / kMinute));
  }
  return out;
}

Row row_of(std::string name, std::string sandboxes, const json::object& totals) {
  constexpr double kMibPerGib = 1024;
  constexpr double kHour = 3600;
  return {std::move(name),
          std::move(sandboxes),
          fixed(totals.at("cpu_seconds").to_number<double>(), 1) + "s",
          fixed(totals.at("memory_mib_seconds").to_number<double>() / kMibPerGib / kHour, 3),
          duration(totals.at("running_seconds").to_number<double>()),
          human_size(totals.at("bytes_in").to_number<std::uint64_t>()),
          human_size(totals.at("bytes_out").to_number<std::uint64_t>())};
}

const Row kHead = {"", "SANDBOXES", "CPU", "GIB-HOURS", "RUNNING", "IN", "OUT"};

int usage_command(Context& at, const UsageArgs& args) {
  std::vector<Row> rows;
  std::vector<std::string> documents;
  for (const auto& ref : args.refs) {
    documents.push_back(
        at.client.request("GET", "/api/v1/sandboxes/" + http::encode_segment(ref) + "/usage"));
    const auto one = parsed(documents.back());
    rows.push_back(row_of(text_of(one, "sandbox"), "1", one));
  }
  if (args.refs.empty()) {
    std::string target = "/api/v1/usage?group_by=" + http::encode_segment(args.group_by);
    for (const auto& label : args.labels) target += "&label=" + http::encode_segment(label);
    const std::string body = at.client.request("GET", target);
    if (at.json) {
      print(body + "\n");
      return kOk;
    }
    const auto all = parsed(body);
    if (const auto* groups = all.if_contains("groups")) {
      for (const auto& item : groups->as_array()) {
        const auto& group = item.as_object();
        const std::string value = text_of(group, "value");
        rows.push_back(row_of(args.group_by + (value.empty() ? " (none)" : "=" + value),
                              codec::write(group.at("sandboxes")), group.at("totals").as_object()));
      }
    }
    rows.push_back(row_of("all", codec::write(all.at("sandboxes")), all.at("totals").as_object()));
  }
  print(at.json ? json_array(documents) : table(kHead, rows));
  return kOk;
}

int rm_command(Context& at, const RmArgs& args) {
  json::object body;
  if (args.all) body["all"] = true;
  if (!args.refs.empty()) body["refs"] = json::array(args.refs.begin(), args.refs.end());
  if (!args.labels.empty()) body["labels"] = json::array(args.labels.begin(), args.labels.end());
  const auto answer =
      parsed(at.client.request("POST", "/api/v1/sandboxes/batch-delete", codec::write(body)));
  int code = kOk;
  std::vector<std::string> items;
  for (const auto& item : answer.at("failed").as_array()) {
    const auto& error = item.at("error").as_object();
    const bool gone = text_of(error, "reason") == "sandbox_not_found";
    if (gone && (args.force || args.refs.empty())) continue;  // somebody else was quicker
    const std::string ref = text_of(item.as_object(), "ref");
    print_error(printable(ref) + ": " + text_of(error, "message"));
    items.push_back(codec::write(json::object{{"sandbox", ref}, {"error", error}}));
    code = kOurFailure;
  }
  for (const auto& item : answer.at("deleted").as_array()) {
    const std::string ref(item.as_string());
    if (at.json) {
      items.push_back(codec::write(json::object{{"sandbox", ref}}));
    } else if (args.refs.empty()) {
      print(printable(ref) + "\n");
    }
  }
  if (at.json) print(json_array(items));
  return code;
}

}  // namespace

Command usage_entry() {
  const auto args = std::make_shared<UsageArgs>();
  return {.name = "usage",
          .help = "What sandboxes used: CPU, memory over time, running time, bytes",
          .examples =
              "  cay usage                                 all, deleted ones too\n"
              "  cay usage box other\n"
              "  cay usage --label team=a --by project\n",
          .group = kHostGroup,
          .options =
              [args](Options& to) {
                to.arguments("SANDBOX", args->refs, "Ids or names (default: sums)");
                to.texts("--label", args->labels,
                         "Only those with KEY or KEY=VALUE; repeatable, all must match");
                to.text("--by", args->group_by, "A sum for each value of this label");
              },
          .args = [args](const Line&) -> std::any {
            if (!args->refs.empty() && !(args->labels.empty() && args->group_by.empty()))
              wrong("SANDBOX", "goes with neither --label nor --by");
            return *args;
          },
          .run = runs(usage_command)};
}

Command rm_entry() {
  const auto args = std::make_shared<RmArgs>();
  return {.name = "rm",
          .help = "Remove sandboxes and all they hold",
          .examples = "  cay rm box other\n  cay rm --label project=demo\n  cay rm --all\n",
          .options =
              [args](Options& to) {
                to.texts("--label", args->labels,
                         "Those with KEY or KEY=VALUE; repeatable, all must match");
                to.arguments("SANDBOX", args->refs, "Ids or names");
                to.flag("-a,--all", args->all, "All of them");
                to.flag("-f,--force", args->force, "What is not there is no error");
              },
          .args = [args](const Line&) -> std::any {
            check_refs(*args, !args->labels.empty());
            return *args;
          },
          .run = runs(rm_command)};
}

}  // namespace cay::cli
