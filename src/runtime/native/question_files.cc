#include "runtime/native/question_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "os/exact_file.h"
#include "os/file.h"
#include "runtime/native/helper_state.h"
#include "runtime/native/rules_file.h"
#include "wire/network_questions.h"

namespace cay::runtime {
namespace {

constexpr mode_t kAnswersMode = 0644;  // the directory lets in nobody but the gate's group
constexpr std::size_t kMostKeptAnswers = 64;

Error unreadable_questions() {
  return Error{Code::kLost, "decisions_damaged",
               "the gate's questions about the sandbox cannot be read", 0};
}

Error question_gone() {
  return Error{Code::kNotFound, "question_not_found",
               "the question is not open: it was answered, its time was over, or the gate was "
               "started again. `cay net SANDBOX --questions` lists the open ones",
               0};
}

Result<wire::AskedFile> read_asked(const std::string& data, const SandboxId& id) {
  if (!is_uuid(id.get()))
    return Error{Code::kInvalidArgument, "bad_id", "a sandbox id is a UUID", 0};
  const std::string path = data + "/gate/" + id.get() + wire::kAskedSuffix;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return wire::AskedFile{};
  struct stat facts{};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size > static_cast<off_t>(wire::kMostQuestionsFile))
    return unreadable_questions();
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  if (::pread(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return unreadable_questions();
  auto file = wire::decode<wire::AskedFile>(text);
  if (!file) return unreadable_questions();
  return *std::move(file);
}

// The newest last: another answer may have been written that the gate has not read yet.
Result<void> append_answer(const std::string& data, const SandboxId& id,
                           const std::string& question, bool allowed) {
  const auto directory = os::open_dir(AT_FDCWD, data + "/rules");
  if (!directory) return directory.error();
  const std::string name = id.get() + wire::kAnswersSuffix;
  const auto text = os::read_file(directory->get(), name, wire::kMostQuestionsFile);
  auto file = text ? wire::decode<wire::AnswersFile>(*text) : std::nullopt;
  if (!file || !file->whole) file.emplace();
  file->items.push_back({question, allowed});
  if (file->items.size() > kMostKeptAnswers) file->items.erase(file->items.begin());
  file->whole = true;
  return os::replace_file_exactly(directory->get(), name, wire::encode(*file), kAnswersMode);
}

}  // namespace

Result<std::vector<NetworkQuestion>> read_questions(const std::string& data, const SandboxId& id,
                                                    UnixMillis now) {
  CAY_TRY(auto file, read_asked(data, id));
  std::vector<NetworkQuestion> out;
  for (wire::OpenQuestion& one : file.open) {
    if (one.until <= now) continue;  // nobody waits for it, else the gate had ended it
    out.push_back({.id = std::move(one.id),
                   .host = std::move(one.host),
                   .port = static_cast<std::uint16_t>(one.port),
                   .asked_at = one.at,
                   .expires_at = one.until,
                   .waiting = one.waiting});
  }
  return out;
}

Task<void> write_answer(asio::any_io_executor loop, std::string data, SandboxId id,
                        std::string question, bool allowed) {
  CAY_CO_TRY(const auto before, read_asked(data, id));
  if (std::ranges::find(before.open, question, &wire::OpenQuestion::id) == before.open.end())
    co_return question_gone();
  CAY_CO_CHECK(append_answer(data, id, question, allowed));
  CAY_CO_CHECK(co_await tell_gate(loop, data, id));
  CAY_CO_TRY(const auto after, read_asked(data, id));
  const auto ended = std::ranges::find(after.ended, question, &wire::EndedQuestion::id);
  if (ended != after.ended.end() && ended->how == (allowed ? "allowed" : "denied"))
    co_return Result<void>();
  // A killed gate took the question with it, and its connections were reset.
  co_return question_gone();
}

Task<std::vector<NetworkQuestion>> QuestionFiles::questions(SandboxId id) {
  // Those of a gate that was killed are nobody's.
  if (!gate_serves(data_of_questions_)) co_return std::vector<NetworkQuestion>();
  co_return read_questions(data_of_questions_, id, system_clock().wall());
}

Task<void> QuestionFiles::answer_question(SandboxId id, std::string question, bool allowed) {
  auto writing = write_answer(loop_of_questions_, data_of_questions_, std::move(id),
                              std::move(question), allowed);
  auto done = co_await std::move(writing);
  co_return done;
}

}  // namespace cay::runtime
