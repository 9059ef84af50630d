#include "launcher/spare_disks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "os/process.h"

namespace cay::launcher {
namespace {

// Makes the spares at the same time, so that they share a commit. A layer without a spare is no
// error: the next create makes its own disk.
void make_spares(Disks& disks, const std::string& layer, const std::vector<int>& numbers) {
  const pid_t self = ::getpid();
  std::vector<os::Cloned> helpers;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    auto helper = os::clone_process(0);
    if (!helper) break;
    if (helper->pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == self) (void)disks.make_spare(layer, numbers[i]);
      ::_exit(0);
    }
    helpers.push_back(std::move(*helper));
  }
  (void)disks.make_spare(layer, numbers.front());
  for (const os::Cloned& helper : helpers) ::waitpid(helper.pid, nullptr, 0);
}

}  // namespace

SpareDisks::Layer* SpareDisks::find(const std::string& layer) {
  const auto found = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Layer& one) { return one.id == layer; });
  return found == layers_.end() ? nullptr : &*found;
}

Result<bool> SpareDisks::take(const DiskPlan& plan) {
  if (plan.fresh || plan.origin.layer.empty() || !plan.origin.sandbox.empty()) return false;
  Layer* layer = find(plan.origin.layer);
  if (layer == nullptr) return false;
  layer->lacks = true;
  return host_.disks.take_spare(plan.id, plan.bytes, plan.origin.layer);
}

void SpareDisks::refill(const std::string& layer) {
  if (making_) return;
  if (Layer* known = find(layer)) known->lacks = false;  // what fails waits for the next use
  const std::vector<int> missing = host_.disks.missing_spares(layer);
  if (missing.empty()) return;
  auto job = ChildJob::start(
      poller_, outbox_,
      [this, layer, missing](const ChildJob::Emit& emit) {
        make_spares(host_.disks, layer, missing);
        emit(wire::Type::kOk, "");
      },
      [this, layer] { on_made(layer); });
  if (!job) return;
  making_ = std::move(*job);
  // A create takes the first of them as soon as they are there, and not once all are made.
  if (find(layer) == nullptr) layers_.push_back({layer, false});
}

void SpareDisks::on_made(const std::string& layer) {
  making_.reset();
  const Layer* known = find(layer);
  const bool lacks = known != nullptr && known->lacks;
  std::erase_if(layers_, [&](const Layer& one) { return one.id == layer; });
  struct stat info{};
  if (::fstatat(host_.layers.get(), layer.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    (void)host_.disks.remove_spares(layer);  // the layer was removed meanwhile
    return;
  }
  layers_.push_back({layer, lacks});
  if (layers_.size() <= kMostLayers) return;
  (void)host_.disks.remove_spares(layers_.front().id);
  layers_.pop_front();
}

int SpareDisks::tick() {
  const auto lacking =
      std::find_if(layers_.begin(), layers_.end(), [](const Layer& one) { return one.lacks; });
  if (making_ || lacking == layers_.end()) return -1;
  const auto left = quiet_from_ - Clock::now();
  if (left > Clock::duration::zero())
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  refill(lacking->id);
  return 1;
}

}  // namespace cay::launcher
