// StoreVerbs: the verbs for snapshots, layers and volumes. Long work goes to child jobs.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/child_job.h"
#include "launcher/host.h"
#include "launcher/outbox.h"
#include "launcher/sandboxes.h"
#include "wire/messages.h"

namespace cay::launcher {

class StoreVerbs {
 public:
  using StartJob = std::function<void(const ReplyTo& to, const ChildJob::Work& work,
                                      std::function<void()> then)>;

  StoreVerbs(Host& host, Sandboxes& sandboxes, Outbox& outbox, StartJob start_job)
      : host_(host), sandboxes_(sandboxes), outbox_(outbox), start_job_(std::move(start_job)) {}

  // Returns false if the verb is none of these.
  bool serve(const ReplyTo& to, wire::Type type, const std::string& payload);

 private:
  void seal(const ReplyTo& to, const std::string& payload);
  void list_all_layers(const ReplyTo& to);
  void check(const ReplyTo& to, const std::string& payload);
  void remove_snapshot(const ReplyTo& to, const std::string& payload);
  void make(const ReplyTo& to, const std::string& payload);
  void remove(const ReplyTo& to, const std::string& payload);
  void list_all_volumes(const ReplyTo& to);
  void answer(const ReplyTo& to, const Result<void>& done);
  void malformed(const ReplyTo& to);
  // Layers and sandboxes that need it.
  std::size_t users_of(const std::string& layer) const;

  Host& host_;
  Sandboxes& sandboxes_;
  Outbox& outbox_;
  StartJob start_job_;
  std::map<std::string, std::vector<std::string>> sealing_;  // what each new one will stand on
  std::set<std::string> removing_;                           // layers
};

}  // namespace cay::launcher
