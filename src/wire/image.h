// The conversation of the daemon with the process that fetches images, over a UNIX socket. Frames
// are those of wire/frame.h, all on channel 1. One connection is about one image.
//
// - The daemon sends kPull, or kRead with kData and kEof. The answer is kProgress..., kImage.
// - It sends kLayerOf. The answer is (kLayerEntry, kData...)..., kEof.
// - It sends kPush, then (kLayerEntry, kData...)..., kEof for each layer. The answer is
//   kProgress..., kPushed.
// - It sends kExport, and layers as behind kPush. The answer is kProgress..., kData..., kEof: an
//   OCI archive.
// - kError takes the place of any answer.
//
// The socket alone holds back whoever is too quick. The end of the connection ends the work; what
// was fetched stays for the next pull.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wire/messages.h"
#include "wire/tlv.h"

namespace cay::wire {

// Numbers apart from those of wire::Type, whose kData, kEof, kError, kProgress and kLayerEntry they
// share a connection with.
enum class ImageType : std::uint16_t {
  kPull = 200,     // PullImage
  kRead = 201,     // ReadArchive
  kImage = 202,    // ImageMsg
  kLayerOf = 203,  // LayerOf
  kPush = 204,     // PushImage
  kPushed = 205,   // Pushed
  kExport = 206,   // PushImage, whose reference is the name in the archive
  kNote = 207,     // ProgressMsg, before a layer's kEof: what was left out of all layers so far
};

struct PullImage {
  std::string reference, platform;
  std::string username, password, identity_token;
  bool special_network = false;
  std::string owner{};  // whose fetched blobs may be used: a tenant's name
  template <class V>
  void fields(V& v) {
    v(1, reference);
    v(2, platform);
    v(3, username);
    v(4, password);
    v(5, identity_token);
    v(6, special_network);
    v(7, owner);
  }
};

struct ReadArchive {
  bool root = false;    // it is a root file system, whatever files it contains
  std::string owner{};  // as in PullImage
  template <class V>
  void fields(V& v) {
    v(1, root);
    v(2, owner);
  }
};

struct ImageLayerMsg {
  std::string diff_id;
  std::uint64_t size = 0;
  template <class V>
  void fields(V& v) {
    v(1, diff_id);
    v(2, size);
  }
};

// model/snapshot.h, ImageConfig.
struct ImageConfigMsg {
  std::string user, workdir;
  std::vector<std::string> env;  // "NAME=value"
  std::vector<std::string> entrypoint, command;
  std::vector<std::string> labels;  // "name=value"
  std::vector<std::string> ports;
  template <class V>
  void fields(V& v) {
    v(1, user);
    v(2, workdir);
    v(3, env);
    v(4, entrypoint);
    v(5, command);
    v(6, labels);
    v(7, ports);
  }
};

struct ImageMsg {
  std::string name, tag, digest;
  ImageConfigMsg config;
  std::vector<ImageLayerMsg> layers;  // the lowest first
  template <class V>
  void fields(V& v) {
    v(1, name);
    v(2, tag);
    v(3, digest);
    v(4, config);
    v(5, layers);
  }
};

struct LayerOf {
  std::uint32_t index = 0;
  template <class V>
  void fields(V& v) {
    v(1, index);
  }
};

struct PushImage {
  std::string reference;
  std::string username, password, identity_token;
  bool special_network = false;
  ImageConfigMsg config;
  std::uint32_t layers = 0;  // that follow, the lowest first
  template <class V>
  void fields(V& v) {
    v(1, reference);
    v(2, username);
    v(3, password);
    v(4, identity_token);
    v(5, special_network);
    v(6, config);
    v(7, layers);
  }
};

struct Pushed {
  std::string digest;
  template <class V>
  void fields(V& v) {
    v(1, digest);
  }
};

}  // namespace cay::wire
