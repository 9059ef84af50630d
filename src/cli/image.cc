#include "cli/image.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "cli/docker_config.h"
#include "cli/output.h"
#include "cli/render.h"
#include "model/snapshot_request.h"

namespace cay::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Shows how far the daemon is with an image. On a terminal one line is written anew. Elsewhere each
// change is a line, but at most one in `kSeldom`.
class ImageProgress {
 public:
  ~ImageProgress() {
    if (shown_ && on_terminal_) write_all(STDERR_FILENO, "\r\033[K");
  }
  void show(const std::string& text) {
    const auto now = Clock::now();
    if (text.empty() || text == last_ || now < next_) return;
    next_ = now + (on_terminal_ ? kOften : kSeldom);
    last_ = text;
    shown_ = true;
    const std::string line = "cay: " + printable(text);
    write_all(STDERR_FILENO, on_terminal_ ? "\r" + line + "\033[K" : line + "\n");
  }

 private:
  static constexpr auto kOften = std::chrono::milliseconds(100);
  static constexpr auto kSeldom = std::chrono::seconds(2);
  const bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::string last_;
  Clock::time_point next_{};
};

// Returns the user's next steps after a pull that failed. Empty: the message has them.
std::string remedy_of(const ApiError& error, const std::string& host) {
  const std::string login = "a private image needs `docker login " + host + "`";
  const std::string way =
      "`cay doctor` lists what this host reaches, and `cay snapshot import FILE` needs no registry";
  const std::string& reason = error.reason();
  if (reason == "registry_unreachable") return way;
  if (reason == "image_not_found" || reason == "registry_denied") return login;
  return reason == "snapshot_failed" ? login + "; " + way : std::string();
}

// The snapshot of that name, tag or id, else one that was pulled as `image`. An image whose pull
// failed is not here.
std::optional<sdk::Snapshot> found_here(Context& at, const std::string& image) {
  const auto store = at.client.snapshot_store();
  const auto here = [](const sdk::Snapshot& one) {
    return one.origin != "image" || one.status == "ready" || one.status == "building";
  };
  try {
    if (auto found = store.get(image); here(found)) return found;
  } catch (const ApiError& error) {
    if (error.reason() != "snapshot_not_found") throw;
  }
  const auto wanted = image_reference_from(image);
  if (!wanted) return std::nullopt;
  for (auto& one : store.list()) {
    if (one.image == wanted->text() && here(one)) return std::move(one);
  }
  return std::nullopt;
}

}  // namespace

sdk::Snapshot wait_for(Context& at, const sdk::Snapshot& begun) {
  if (begun.status == "ready") return begun;
  const sdk::Snapshot ready = [&] {
    ImageProgress progress;
    return at.client.snapshot_store().wait(
        begun.id, [&progress](const sdk::Snapshot& now) { progress.show(now.status_message); });
  }();
  if (!ready.status_message.empty()) print_error(printable(ready.status_message));
  return ready;
}

sdk::PushState push_image(Context& at, const std::string& snapshot, const std::string& image) {
  const sdk::PushOptions options{.image = image, .login = login_of_user(image)};
  ImageProgress progress;
  return at.client.snapshot_store().push(
      snapshot, options, [&progress](const sdk::PushState& now) { progress.show(now.message); });
}

sdk::Snapshot pull_image(Context& at, sdk::PullOptions options) {
  if (options.login.empty()) options.login = login_of_user(options.image);
  try {
    return wait_for(at, at.client.snapshot_store().pull(options));
  } catch (const ApiError& error) {
    const std::string host = registry_of(options.image);
    const std::string remedy = remedy_of(error, host);
    throw ApiError(error.code(), error.reason(),
                   "image " + options.image + " could not be pulled from " + host + ": " +
                       error.what() + (remedy.empty() ? "" : " (" + remedy + ")"));
  }
}

void note_disk_alone(const std::string& made, bool json) {
  if (!json && ::isatty(STDERR_FILENO) == 1)
    print_error(made + " has the disk alone: programs and their memory are not copied");
}

sdk::Snapshot snapshot_of(Context& at, const std::string& image) {
  if (const auto found = found_here(at, image)) return wait_for(at, *found);
  return pull_image(at, {.image = image});
}

}  // namespace cay::cli
