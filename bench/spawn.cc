// bench_spawn: starts a program over and over, as cheaply as the kernel can: vfork, exec, wait.
//
// `once COUNT WARM` starts the program one after the other. `many COUNT GAP_MS` starts each GAP_MS
// after the one before. `rate SECONDS PROCESSES` starts it in so many loops at once. Behind them
// come `--` and the words of the program.
//
// %N in an argument becomes the number of the start. `once` and `many` print {"first": [...],
// "end": [...], "failures": N, "wall_us": X}: the microseconds from each start to its first byte of
// output, and to its end. A program without output has its end as its first byte. `rate` prints
// {"per_second": X, "failures": N}.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

// Starts the program with `output` as its stdout. -1: it could not be started.
pid_t start(char** argv, int output) {
  const pid_t pid = ::vfork();
  if (pid == 0) {
    if (output >= 0) ::dup2(output, STDOUT_FILENO);
    ::execv(argv[0], argv);
    ::_exit(127);
  }
  return pid;
}

bool ended_well(pid_t pid) {
  int status = 0;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

// The words of a program, with the number of the start for %N.
class Words {
 public:
  Words(char** argv, int number) {
    const std::string mark = "%N", name = std::to_string(::getpid()) + "-" + std::to_string(number);
    for (; *argv != nullptr; ++argv) {
      std::string word = *argv;
      const auto at = word.find(mark);
      if (at != std::string::npos) word.replace(at, mark.size(), name);
      words_.push_back(std::move(word));
    }
    for (auto& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  char** argv() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

// One start: its process, and the pipe of its output until that is at its end.
class Run {
 public:
  Run(char** argv, int number) {
    Words words(argv, number);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    ::fcntl(ends[1], F_SETFL, 0);
    begin_ = Clock::now();
    pid_ = start(words.argv(), ends[1]);
    ::close(ends[1]);
    output_ = ends[0];
  }

  bool open() const { return output_ >= 0; }
  pollfd poll_for() const { return {output_, POLLIN, 0}; }

  // Reads what is there. At the end of the output it waits for the process.
  void read() {
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::read(output_, buffer, sizeof buffer)) > 0) {
      if (first_us == 0) first_us = microseconds(begin_, Clock::now());
    }
    if (got < 0 && errno == EAGAIN) return;
    good = ended_well(pid_);
    end_us = microseconds(begin_, Clock::now());
    if (first_us == 0) first_us = end_us;
    ::close(output_);
    output_ = -1;
  }

  double first_us = 0, end_us = 0;
  bool good = false;

 private:
  Clock::time_point begin_;
  pid_t pid_ = -1;
  int output_ = -1;
};

void print_list(const char* name, const std::vector<double>& values) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s%.2f", i == 0 ? "" : ", ", values[i]);
  std::printf("], ");
}

int report(const std::vector<Run>& runs, double wall) {
  std::vector<double> first, end;
  int failures = 0;
  for (const Run& run : runs) {
    if (!run.good) {
      ++failures;
      continue;
    }
    first.push_back(run.first_us);
    end.push_back(run.end_us);
  }
  std::printf("{");
  print_list("first", first);
  print_list("end", end);
  std::printf("\"failures\": %d, \"wall_us\": %.1f}\n", failures, wall);
  return 0;
}

int once(int count, int warm, char** argv) {
  std::vector<Run> runs;
  auto begin = Clock::now();
  for (int i = 0; i < count + warm; ++i) {
    if (i == warm) begin = Clock::now();
    Run run(argv, i);
    while (run.open()) {
      pollfd one = run.poll_for();
      ::poll(&one, 1, -1);
      run.read();
    }
    if (i >= warm) runs.push_back(run);
  }
  return report(runs, microseconds(begin, Clock::now()));
}

int many(int count, int gap_ms, char** argv) {
  const auto begin = Clock::now();
  std::vector<Run> runs;
  std::vector<pollfd> waits;
  std::size_t ended = 0;
  while (ended < static_cast<std::size_t>(count)) {
    const bool all_begun = runs.size() == static_cast<std::size_t>(count);
    const auto next = begin + std::chrono::milliseconds(gap_ms) * runs.size();
    if (!all_begun && Clock::now() >= next) {
      const int number = static_cast<int>(runs.size());
      runs.emplace_back(argv, number);
      if (!runs.back().open()) ++ended;
    }
    waits.clear();
    for (const Run& run : runs) waits.push_back(run.poll_for());
    const double wait = all_begun ? -1 : microseconds(Clock::now(), next) / 1000;
    const int limit = all_begun ? -1 : (wait > 0 ? static_cast<int>(wait) + 1 : 0);
    ::poll(waits.data(), waits.size(), limit);
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents == 0) continue;
      runs[i].read();
      if (!runs[i].open()) ++ended;
    }
  }
  return report(runs, microseconds(begin, Clock::now()));
}

struct Counts {
  std::atomic<long> good{0}, failures{0};
};

int rate(double seconds, int processes, char** argv) {
  void* shared =
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* counts = new (shared) Counts;
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto begin = Clock::now();
  const auto until =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<pid_t> loops;
  for (int i = 0; i < processes; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (Clock::now() < until) {
        const bool good = ended_well(start(argv, nothing));
        ++(good ? counts->good : counts->failures);
      }
      ::_exit(0);
    }
    loops.push_back(pid);
  }
  for (const pid_t pid : loops) ::waitpid(pid, nullptr, 0);
  const double took = microseconds(begin, Clock::now());
  std::printf("{\"per_second\": %.1f, \"failures\": %ld}\n",
              static_cast<double>(counts->good.load()) * 1e6 / took, counts->failures.load());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 6 || std::strcmp(words[4], "--") != 0) {
    std::fputs(
        "usage: bench_spawn once COUNT WARM -- PROGRAM [ARGUMENTS]\n"
        "       bench_spawn many COUNT GAP_MS -- PROGRAM [ARGUMENTS]\n"
        "       bench_spawn rate SECONDS PROCESSES -- PROGRAM [ARGUMENTS]\n",
        stderr);
    return 2;
  }
  const std::string what = words[1];
  if (what == "once") return once(std::atoi(words[2]), std::atoi(words[3]), words + 5);
  if (what == "many") return many(std::atoi(words[2]), std::atoi(words[3]), words + 5);
  return rate(std::atof(words[2]), std::atoi(words[3]), words + 5);
}
