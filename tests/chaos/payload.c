// payload ID SEED SCRIPT…: a command of the chaos test. It does what SCRIPT lists and records its
// real actions in /root/records/ID. Each fact has one line, before or after the action as the fact
// demands. Content is a function of (seed, stream, offset), so that every byte can be judged:
// content.py.
//
//   oN eN  Write N bytes to stdout, stderr.
//
//   zN     Sleep N ms.
//   fN     Leave a child behind. It sleeps N ms, silent.
//   lN     Leave a child. It writes N bytes to stdout once this process is gone.
//
//   i      Copy stdin to stdout until its end.
//   h      Hang for ever.
//
//   xN     Exit with N.
//   kN     Send signal N to itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kBlock = 16, kChunk = 32 * 1024 };

static int record = -1;
static unsigned seed;
static unsigned long long sent[3];  // by stream: 1 stdout, 2 stderr

static long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// One write for each line: lines of one process do not tear when it is killed between them.
static void note(const char* fact, long long a, long long b) {
  char line[128];
  const int size = snprintf(line, sizeof line, "%s %lld %lld\n", fact, a, b);
  if (write(record, line, (size_t)size) != size) _exit(98);
}

static void content(int stream, unsigned long long offset, char* out, size_t size) {
  static const char digits[] = "0123456789abcdef";
  const unsigned key = seed * 2654435761u + (unsigned)stream * 40503u;
  for (size_t at = 0; at < size; ++at, ++offset) {
    const unsigned long long block = offset / kBlock;
    const unsigned place = (unsigned)(offset % kBlock);
    if (place < 8)
      out[at] = digits[(key >> (28 - 4 * place)) & 15];
    else if (place < 13)
      out[at] = digits[(block >> (16 - 4 * (place - 8))) & 15];
    else
      out[at] = "\xc3\xa9\n"[place - 13];
  }
}

static void put(int stream, unsigned long long count) {
  static char buffer[kChunk];
  while (count > 0) {
    const size_t size = count < kChunk ? (size_t)count : kChunk;
    content(stream, sent[stream], buffer, size);
    note(stream == 1 ? "may1" : "may2", (long long)(sent[stream] + size), 0);
    size_t done = 0;
    while (done < size) {
      const ssize_t got = write(stream, buffer + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        note("failed", stream, errno);
        _exit(97);
      }
      done += (size_t)got;
    }
    sent[stream] += size;
    count -= size;
    note(stream == 1 ? "did1" : "did2", (long long)sent[stream], 0);
  }
}

static void copy_stdin(void) {
  static char buffer[kChunk];
  for (;;) {
    const ssize_t got = read(0, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      note("failed", 0, errno);
      _exit(96);
    }
    if (got == 0) break;
    note("read", got, 0);
    note("may1", (long long)sent[1] + got, 0);
    for (ssize_t done = 0; done < got;) {
      const ssize_t put_now = write(1, buffer + done, (size_t)(got - done));
      if (put_now < 0) {
        note("failed", 1, errno);
        _exit(97);
      }
      done += put_now;
    }
    sent[1] += (unsigned long long)got;
    note("did1", (long long)sent[1], 0);
  }
  note("stdin_end", 0, 0);
}

static void nap(long long ms) {
  struct timespec left = {ms / 1000, (ms % 1000) * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

static void leave_child(long long ms, unsigned long long late) {
  int gone[2];
  if (pipe2(gone, O_CLOEXEC) != 0) _exit(95);
  const pid_t child = fork();
  if (child < 0) {
    note("failed", 3, errno);
    _exit(95);
  }
  if (child == 0) {
    close(gone[1]);
    if (late > 0) {
      char byte;
      while (read(gone[0], &byte, 1) < 0 && errno == EINTR) {
      }  // end of file: the leader is gone
      note("late_begins", (long long)sent[1], 0);
      put(1, late);
      note("late_done", (long long)sent[1], 0);
    } else {
      nap(ms);
    }
    _exit(0);
  }
  close(gone[0]);  // gone[1] stays open as long as we live
  note("child", child, late > 0);
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  char path[256];
  snprintf(path, sizeof path, "/root/records/%s", argv[1]);
  seed = (unsigned)strtoul(argv[2], NULL, 10);
  record = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (record < 0) return 98;
  note("begin", getpid(), now_ms());
  for (int i = 3; i < argc; ++i) {
    const long long value = strtoll(argv[i] + 1, NULL, 10);
    switch (argv[i][0]) {
      case 'o': put(1, (unsigned long long)value); break;
      case 'e': put(2, (unsigned long long)value); break;
      case 'z': nap(value); break;
      case 'f': leave_child(value, 0); break;
      case 'l': leave_child(0, (unsigned long long)value); break;
      case 'i': copy_stdin(); break;
      case 'h':
        note("hang", 0, now_ms());
        for (;;) pause();
      case 'x': note("exit", value, now_ms()); _exit((int)value);
      case 'k':
        note("signal", value, now_ms());
        signal((int)value, SIG_DFL);
        kill(getpid(), (int)value);
        for (;;) pause();
      default: return 99;
    }
  }
  note("exit", 0, now_ms());
  return 0;
}
