// FakeHost: carries out a build's requests in memory, and keeps a line about each.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "dockerfile/build.h"

namespace cay::dockerfile {

class FakeHost {
 public:
  std::map<std::string, ImageConfig> images{};   // others have an empty configuration
  std::map<std::string, std::string> context{};  // digests by path; others are "-"
  std::map<std::string, LayerId> layers{};       // by key
  std::string failing{};                         // a command that ends with 1
  std::string unreachable{};                     // an image
  std::vector<std::string> log{};                // what the last build did
  bool open = false;                             // a sandbox is open

  // Builds to the end.
  Result<Finished> run(Build& build) {
    log.clear();
    auto request = build.first();
    while (request) {
      if (auto* end = std::get_if<Finished>(&*request)) return std::move(*end);
      request = build.next(std::visit(*this, *request));
    }
    return std::move(request).error();
  }

  Result<Answer> operator()(const ResolveImage& one) {
    log.push_back("resolve " + one.reference);
    if (one.reference == unreachable) {
      return Error{Code::kUnavailable, "image_unreachable", "no registry", 0};
    }
    return Answer(
        BaseImage{LayerId("L-" + one.reference), "sha256:" + one.reference, images[one.reference]});
  }
  Result<Answer> operator()(const DigestContext& one) {
    std::string out;
    for (const auto& path : one.paths) {
      const auto found = context.find(path);
      out += found == context.end() ? "-" : found->second;
    }
    return Answer(out);
  }
  Result<Answer> operator()(const FindLayer& one) {
    const auto found = layers.find(one.key);
    if (found != layers.end()) log.push_back("have " + found->second.get());
    return Answer(found == layers.end() ? LayerId() : found->second);
  }
  Result<Answer> operator()(const StartSandbox& one) {
    log.push_back("start " + one.layer.get());
    if (open) return Error{Code::kInternal, "bug", "two sandboxes", 0};
    open = true;
    return Answer();
  }
  Result<Answer> operator()(const RunCommand& one) {
    std::string text = "run";
    for (const auto& word : one.step.argv) text += " " + word;
    for (const auto& layer : one.layers) text += " with " + layer.get();
    log.push_back(text + " as " + one.step.user + " in " + one.step.workdir);
    return Answer(!failing.empty() && one.step.argv.back() == failing ? 1 : 0);
  }
  Result<Answer> operator()(const CopyFiles& one) {
    std::string text = "copy " + one.layer.get() + ":";
    for (const auto& path : one.step.paths) text += path + ",";
    for (const auto& file : one.step.files) text += "<" + file.name + ",";
    log.push_back(text + " " + one.step.target);
    return Answer();
  }
  Result<Answer> operator()(const MakeDirectory& one) {
    log.push_back("mkdir " + one.step.path);
    return Answer();
  }
  Result<Answer> operator()(const SealLayer& one) {
    const LayerId layer("L" + std::to_string(layers.size()));
    layers[one.key] = layer;
    log.push_back("seal " + layer.get());
    return Answer(layer);
  }
  Result<Answer> operator()(const DiscardSandbox& /*the one that is open*/) {
    log.push_back("discard");
    open = false;
    return Answer();
  }
  Result<Answer> operator()(const Finished& /*no request*/) { return Answer(); }
};

}  // namespace cay::dockerfile
