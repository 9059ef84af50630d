// The arguments of `cay agent`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cay::cli {

// The limits of one run. 0: none.
struct AgentLimitArgs {
  std::uint64_t steps = 500, tokens = 0;
  double cost = 0;       // US dollars
  double timeout_s = 0;  // of the whole run
};

// The model's prices, in US dollars for a million tokens.
struct AgentPriceArgs {
  std::optional<double> input, output, cache_read, cache_write;
};

struct AgentArgs {
  std::string action;              // threads, show, export, rm, rewind or tasks; empty: a run
  std::vector<std::string> words;  // of the action
  std::string task;                // "-": stdin; empty: a conversation, or the end of a broken run

  std::string model, base_url, fallback, system;
  std::string sandbox;  // the provider; empty: the thread's own, or cay
  std::string snapshot, image, policy, id;
  std::vector<std::string> read_only, hidden;  // paths inside
  std::string thread;                          // made where it does not exist
  bool resume = false;
  std::string resumed;              // the thread; empty: the latest one
  std::vector<std::string> decide;  // one for each waiting call, or one for all
  std::vector<std::string> approve;
  AgentLimitArgs limits;
  AgentPriceArgs prices;
  std::vector<std::string> skills, memory;
  std::vector<std::string> mcp;    // files of servers
  std::vector<std::string> tools;  // the only ones; empty: all
  std::vector<std::string> web;    // hosts of web_fetch
  std::string search_url;          // of web_search, with {query}; empty: there is none
  bool todos = false;              // offers write_todos
  bool checkpoint = false;
  bool new_sandbox = false;  // in place of a lost one
  bool ask_network = false;  // destinations that no rule decides wait for an answer
  bool calls_by_schema = false;
  std::uint64_t context_tokens = 0;  // of the model; 0: as it is known
  std::optional<double> temperature;
  std::uint64_t subagent_depth = 1;  // above 1 subagents have subagents
  std::uint64_t max_retries = 2;     // of a request to the model
  bool remove = false;               // the sandbox, after the run
  bool stream = false;               // with --json

  std::string tasks;  // a file
  std::uint64_t parallel = 1, retries = 2;
  std::string output;  // a directory
  bool acp = false;
};

}  // namespace cay::cli
