// keeper-bench: what a command costs above a bare fork and exec. Prints medians and p99.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "keeper/testing/local_keeper.h"

namespace {

using Clock = std::chrono::steady_clock;

double micros_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void print(const char* what, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  std::printf("%-44s median %7.0f us   p99 %7.0f us\n", what, samples[samples.size() / 2],
              samples[samples.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cay::keeper::testing;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  std::string load;
  std::getline(std::ifstream("/proc/loadavg"), load);
  std::printf("load %s, %d rounds\n", load.c_str(), rounds);
  std::vector<double> bare, started, ended;
  LocalKeeper keeper;
  Client client = keeper.client();
  for (int i = 0; i < rounds; ++i) {
    auto begin = Clock::now();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execl("/bin/true", "true", nullptr);
      ::_exit(127);
    }
    ::waitpid(pid, nullptr, 0);
    bare.push_back(micros_since(begin));

    begin = Clock::now();
    const std::string id = "c" + std::to_string(i);
    const std::uint32_t start = client.ask(cay::wire::Type::kStart, command(id, {"/bin/true"}));
    cay::wire::Attach attach;
    attach.command_id = id;
    attach.credit = 1 << 20;
    const std::uint32_t reader = client.ask(cay::wire::Type::kAttach, attach);
    client.next(start);
    started.push_back(micros_since(begin));
    client.collect(reader);
    ended.push_back(micros_since(begin));
  }
  print("bare fork + exec /bin/true + wait", bare);
  print("keeper: start answered", started);
  print("keeper: start to end told", ended);
  return 0;
}
