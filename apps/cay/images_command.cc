#include "images_command.h"

#include <CLI/CLI.hpp>
#include <string>

#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "images_process.h"

namespace cay::app {
namespace {

int complain(const Error& error) { return fail("cay images", error); }

}  // namespace

int images_command(int argc, char** argv) {
  CLI::App app{
      "Fetches container images from registries and reads them for the daemon. Needs no privilege.",
      "cay images"};
  app.footer(
      "`cay serve` starts it itself. Started by root it becomes the user `cay-images`, or one that "
      "owns nothing.\n"
      "Examples:\n"
      "  cay images --data DIR --daemon-user cay\n"
      "  cay images --data DIR --stop               pulls that are under way end; what was fetched "
      "stays");
  std::string dir, file, user, daemon, serve;
  bool stop = false;
  app.add_option("--config", file, "the daemon's settings")->check(CLI::ExistingFile);
  app.add_option("--data", dir, "the daemon's data directory (default " + default_data_dir() + ")");
  app.add_option("--images-user", user, "the user that it becomes when root starts it");
  app.add_option("--daemon-user", daemon, "the user that the daemon runs as");
  app.add_flag("--stop", stop, "end the one of this data directory");
  app.add_option("--serve", serve)
      ->group("");  // what it becomes itself: settings and directory are open already
  if (const auto over = parse_words(app, argc, argv)) return *over;
  if (!serve.empty())
    return run_images_guardian(serve == "always" ? image::Life::kAlways
                                                 : image::Life::kWhileNeeded);
  Config config;
  if (!file.empty()) {
    if (auto loaded = load_config(file, config); !loaded) return complain(loaded.error());
  }
  if (auto fit = check_images(config.images); !fit) return complain(Result<void>(fit).error());
  auto network = settle_network(config.network);
  if (!network) return complain(network.error());
  if (dir.empty()) dir = config.data.empty() ? default_data_dir() : config.data;
  if (stop) {
    auto stopped = stop_role(kImages, dir);
    return stopped ? 0 : complain(stopped.error());
  }
  auto becoming = role_user(kImages, user);
  if (!becoming) return complain(becoming.error());
  auto of_daemon = daemon_user(daemon);
  if (!of_daemon) return complain(of_daemon.error());
  auto data = open_data_dir(dir, *of_daemon);
  if (!data) return complain(data.error());
  return complain(
      become_images({image_settings(config.images, *network, data->path, of_daemon->uid), *becoming,
                     of_daemon->gid},
                    image::Life::kAlways));
}

}  // namespace cay::app
