#include "dockerfile/build.h"

#include "base/assert.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

// The key of an empty disk.
constexpr std::string_view kEmptyKey = "empty";

std::string key_of_image(const BaseImage& image) { return "image:" + image.digest; }

bool changes_only_a_directory(const Step& step) {
  return std::holds_alternative<DirectoryStep>(step);
}

}  // namespace

Result<Build> Build::create(Dockerfile file, BuildOptions options) {
  auto inputs = std::make_unique<Inputs>();
  inputs->file = std::move(file);
  inputs->options = std::move(options);
  CAY_TRY(inputs->plan, plan(inputs->file, inputs->options));
  return Build(std::move(inputs));
}

std::vector<std::string> Build::notes() const {
  auto out = inputs_->file.notes;
  out.insert(out.end(), inputs_->plan.notes.begin(), inputs_->plan.notes.end());
  return out;
}

void Build::fail(Error error) {
  if (failed_) return;
  const std::string line = current_ == nullptr ? "" : "line " + std::to_string(current_->line);
  if (current_ != nullptr && !error.message.starts_with(line + ":")) {
    error = std::move(error).while_doing(line);
  }
  failed_ = std::move(error);
}

Result<Request> Build::next(Result<Answer> answer) {
  if (!answer) {
    // A sandbox whose removal failed is not removed again.
    if (std::holds_alternative<DiscardSandbox>(last_)) open_ = false;
    fail(std::move(answer).error());
  } else {
    take(*answer);
  }
  return advance();
}

// An answer of the wrong type is a bug of the host.
void Build::take(const Answer& answer) {
  if (const auto* asked = std::get_if<ResolveImage>(&last_)) {
    CAY_ASSERT(std::holds_alternative<BaseImage>(answer));
    images_[asked->reference] = std::get<BaseImage>(answer);
  } else if (std::holds_alternative<DigestContext>(last_)) {
    CAY_ASSERT(std::holds_alternative<std::string>(answer));
    digests_.push_back(std::get<std::string>(answer));
  } else if (std::holds_alternative<FindLayer>(last_)) {
    CAY_ASSERT(std::holds_alternative<LayerId>(answer));
    const LayerId& found = std::get<LayerId>(answer);
    missing_ = found.get().empty();
    if (!missing_) {
      layer_ = found;
      key_ = next_key_;
      steps_.clear();
      complete_ = false;
    }
  } else if (std::holds_alternative<StartSandbox>(last_)) {
    missing_ = false;
    open_ = true;
    sealed_ = false;
    done_ = 0;
  } else if (std::holds_alternative<RunCommand>(last_)) {
    CAY_ASSERT(std::holds_alternative<int>(answer));
    ++done_;
    if (const int code = std::get<int>(answer); code != 0) {
      fail(Error{Code::kInvalidArgument, "build_failed",
                 shown(current_->text) + ": exit code " + std::to_string(code), 0});
    }
  } else if (std::holds_alternative<SealLayer>(last_)) {
    CAY_ASSERT(std::holds_alternative<LayerId>(answer));
    layer_ = std::get<LayerId>(answer);
    key_ = next_key_;
    sealed_ = true;
  } else if (std::holds_alternative<DiscardSandbox>(last_)) {
    open_ = false;
    steps_.clear();
    complete_ = false;
  } else {
    ++done_;  // CopyFiles, MakeDirectory
  }
}

Result<Request> Build::advance() {
  while (true) {
    std::optional<Request> request;
    if (open_) {
      request = in_sandbox();
    } else if (failed_) {
      return *failed_;
    } else if (missing_) {
      request = StartSandbox{layer_};
    } else if (stage_at_ == inputs_->plan.stages.size()) {
      const StageResult& last = stages_.at(inputs_->plan.stages.back().stage);
      request = Finished{last.layer, last.config.image};
    } else if (!scope_) {
      request = open_stage();
    } else if (complete_) {
      request = prepare_step();
    } else {
      request = read_instructions();
    }
    if (!request) continue;
    last_ = *request;
    return *std::move(request);
  }
}

std::optional<Request> Build::open_stage() {
  const PlannedStage& planned = inputs_->plan.stages[stage_at_];
  ImageConfig base;
  StageResult from;
  key_ = kEmptyKey;
  layer_ = {};
  if (planned.base.kind == Source::Kind::kStage) {
    from = stages_.at(planned.base.stage);
    base = from.config.image;
    key_ = from.key;
    layer_ = from.layer;
  } else if (planned.base.kind == Source::Kind::kImage) {
    const auto found = images_.find(planned.base.image);
    if (found == images_.end()) return ResolveImage{planned.base.image};
    base = found->second.config;
    key_ = key_of_image(found->second);
    layer_ = found->second.layer;
  }
  scope_.emplace(inputs_->file, inputs_->plan, inputs_->options, std::move(base),
                 std::move(from.arguments));
  scope_->set_shell(std::move(from.config.shell));
  next_key_ = key_;
  instruction_at_ = 0;
  return std::nullopt;
}

// Reads up to the next step that runs or copies, or to the end of the stage.
std::optional<Request> Build::read_instructions() {
  const Stage& stage = inputs_->file.stages[inputs_->plan.stages[stage_at_].stage];
  if (steps_.empty()) next_key_ = key_;
  digests_.clear();
  while (instruction_at_ < stage.instructions.size()) {
    current_ = &stage.instructions[instruction_at_++];
    auto step = scope_->next(*current_);
    if (!step) {
      fail(std::move(step).error());
      return std::nullopt;
    }
    if (std::holds_alternative<std::monostate>(*step)) continue;
    const bool more = changes_only_a_directory(*step);
    if (more) next_key_ = key_after(next_key_, *step, {});
    steps_.push_back(*std::move(step));
    if (more) continue;
    complete_ = true;
    return std::nullopt;
  }
  complete_ = !steps_.empty();
  if (!complete_) close_stage();
  return std::nullopt;
}

std::vector<Source> Build::sources_of(const Step& step) const {
  if (const auto* copy = std::get_if<CopyStep>(&step)) return {copy->from};
  if (const auto* run = std::get_if<RunStep>(&step)) return run->sources;
  return {};
}

LayerId Build::layer_of(const Source& source) const {
  if (source.kind == Source::Kind::kStage) return stages_.at(source.stage).layer;
  if (source.kind == Source::Kind::kImage) return images_.at(source.image).layer;
  return {};
}

std::string Build::digest_of(const Source& source) const {
  if (source.kind == Source::Kind::kStage) return "stage:" + stages_.at(source.stage).key;
  return key_of_image(images_.at(source.image));
}

std::optional<Request> Build::prepare_step() {
  const Step& last = steps_.back();
  for (const auto& source : sources_of(last)) {
    if (source.kind == Source::Kind::kImage && !images_.contains(source.image)) {
      return ResolveImage{source.image};
    }
  }
  if (!changes_only_a_directory(last)) {
    const auto contents = contents_of(last);
    while (digests_.size() < contents.size()) {
      const Contents& one = contents[digests_.size()];
      if (one.from.kind == Source::Kind::kContext) return DigestContext{one.paths};
      digests_.push_back(digest_of(one.from));
    }
    next_key_ = key_after(next_key_, last, digests_);
  }
  return FindLayer{next_key_};
}

Request Build::in_sandbox() {
  if (failed_ || sealed_) return DiscardSandbox{};
  if (done_ == steps_.size()) return SealLayer{next_key_};
  const Step& step = steps_[done_];
  if (const auto* run = std::get_if<RunStep>(&step)) {
    RunCommand out{*run, {}};
    for (const auto& source : run->sources) out.layers.push_back(layer_of(source));
    return out;
  }
  if (const auto* copy = std::get_if<CopyStep>(&step))
    return CopyFiles{*copy, layer_of(copy->from)};
  return MakeDirectory{std::get<DirectoryStep>(step)};
}

void Build::close_stage() {
  stages_[inputs_->plan.stages[stage_at_].stage] =
      StageResult{layer_, key_, scope_->config(), scope_->arguments()};
  scope_.reset();
  current_ = nullptr;
  ++stage_at_;
}

}  // namespace cay::dockerfile
