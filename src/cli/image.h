// These functions get images for the commands that boot from one. They pull an image that this
// daemon lacks, and show the progress on stderr.
#pragma once
#include <string>

#include "cay/client.h"
#include "cli/context.h"

namespace cay::cli {

// Pulls an image with the user's login for its registry, and returns the snapshot once it can be
// booted. Throws ApiError with a remedy in the message.
sdk::Snapshot pull_image(Context& at, sdk::PullOptions options);

// Pushes a snapshot to a registry with the user's login, and waits for the end.
sdk::PushState push_image(Context& at, const std::string& snapshot, const std::string& image);

// Waits until a snapshot is ready, and shows how far it is.
sdk::Snapshot wait_for(Context& at, const sdk::Snapshot& begun);

// Returns the snapshot that `image` means: one that is here by that name, tag or id. Else the image
// is pulled.
sdk::Snapshot snapshot_of(Context& at, const std::string& image);

// Prints on a terminal that `made`, "a fork", has the disk and no memory of processes.
void note_disk_alone(const std::string& made, bool json);

}  // namespace cay::cli
