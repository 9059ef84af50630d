// Questions about destinations that no rule of a sandbox's policy allows (decision 0064). The gate
// lists them in DATA/gate/ID.questions, and the daemon writes the answers into
// DATA/rules/ID.answers. Both files are replaced as a whole. A question's id is of one gate
// process: the answer to a question of a killed gate is nobody's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wire/tlv.h"

namespace cay::wire {

inline constexpr const char* kAskedSuffix = ".questions";  // behind the sandbox's id
inline constexpr const char* kAnswersSuffix = ".answers";  // the same
inline constexpr std::size_t kMostQuestionsFile = 64 * 1024;

struct OpenQuestion {
  std::string id;    // 32 hex digits
  std::string host;  // a name, or an address
  std::uint32_t port = 0;
  std::int64_t at = 0, until = 0;  // UnixMillis: the first connection, and the refusal
  std::uint64_t waiting = 0;       // connections that are held for it now
  template <class V>
  void fields(V& v) {
    v(1, id);
    v(2, host);
    v(3, port);
    v(4, at);
    v(5, until);
    v(6, waiting);
  }
};

struct EndedQuestion {
  std::string id;
  std::string how;  // allowed, denied, expired, decided (by a policy that was changed meanwhile)
  template <class V>
  void fields(V& v) {
    v(1, id);
    v(2, how);
  }
};

// DATA/gate/ID.questions
struct AskedFile {
  std::vector<OpenQuestion> open;    // the oldest first
  std::vector<EndedQuestion> ended;  // the latest last, and only some
  template <class V>
  void fields(V& v) {
    v(1, open);
    v(2, ended);
  }
};

struct QuestionAnswer {
  std::string id;
  bool allowed = false;
  template <class V>
  void fields(V& v) {
    v(1, id);
    v(2, allowed);
  }
};

// DATA/rules/ID.answers
struct AnswersFile {
  std::vector<QuestionAnswer> items;
  bool whole = false;  // the last member: of a file that was cut short it is missing
  template <class V>
  void fields(V& v) {
    v(1, items);
    v(2, whole);
  }
};

}  // namespace cay::wire
