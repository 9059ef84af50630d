#include "launcher/default_snapshot_build.h"

namespace cay::launcher {
namespace {

constexpr const char* kDirectory = "usr/local/lib/cay";
constexpr const char* kProgram = "usr/local/lib/cay/build";

// One program under three names. `buildkitd` makes the name `docker` while it runs, so that no
// sandbox seems to have a Docker engine.
constexpr std::string_view kText = R"sh(#!/bin/bash
# buildkitd, buildctl and docker of Cay. `buildctl build` records what is to be built. Cay builds
# it when the image is captured. Every other call goes to a program of that name later on PATH.
set -u
export LC_ALL=C
name=${0##*/}
self=/usr/local/lib/cay/build
docker=/usr/local/sbin/docker
records=/var/lib/cay/builds
address=unix:///run/buildkit/buildkitd.sock

fail() {
  echo "$name: $*" >&2
  exit 1
}

# Prints the path of the real program, or nothing.
real() {
  local rest=$PATH: folder
  while [ -n "$rest" ]; do
    folder=${rest%%:*}
    rest=${rest#*:}
    if [ -x "$folder/$name" ] && [ ! -d "$folder/$name" ] && [ ! "$folder/$name" -ef "$self" ]; then
      echo "$folder/$name"
      return
    fi
  done
}

# Sets `quoted` to the text as a JSON string.
quote() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\r'/\\r}
  text=${text//$'\t'/\\t}
  [[ $text != *[[:cntrl:]]* ]] || fail "a control character cannot be recorded: $1"
  quoted="\"$text\""
}

# The file that holds the process id of the buildkitd that listens at $address.
mark() { echo "${address#unix://}.cay"; }

runs() {
  local pid
  read -r pid 2>/dev/null <"$(mark)" && kill -0 "$pid" 2>/dev/null
}

# The record of an image. The daemon makes the same name.
record_of() { echo "$records/${1//\//%}.json"; }

native() {
  echo "Cay's native build. There is no BuildKit and no Docker engine here: an image is built when"
  echo "it is captured as a snapshot, each RUN in a sandbox of its own."
}

buildkitd() {
  while [ $# -gt 0 ]; do
    case $1 in
      --addr) address=${2-}; shift ;;
      --addr=*) address=${1#*=} ;;
      --version) native; exit 0 ;;
    esac
    shift
  done
  [[ $address == unix:///* ]] || fail "it listens at unix:///PATH alone, not at '$address'"
  [ "$(id -u)" = 0 ] || fail "run it as root"
  local file
  file=$(mark)
  mkdir -p "${file%/*}" || exit 1
  echo $$ >"$file" || exit 1
  local made=
  [ -e "$docker" ] || [ -L "$docker" ] || { ln -s "$self" "$docker" && made=1; }
  sleep infinity &
  local waits=$!
  trap 'rm -f "$file"; [ -z "$made" ] || rm -f "$docker"; kill "$waits"; exit 0' TERM INT
  native
  wait "$waits"
}

unsupported() {
  fail "$1 is not supported by Cay's native build (see docs/from-langsmith.md)"
}

# Records one build: buildctl build OPTIONS.
build() {
  local context= folder= file=Dockerfile target= image= arguments= fresh=false quoted=
  local -a pairs=()
  while [ $# -gt 0 ]; do
    case $1 in
      --*=*) pairs+=("${1%%=*}" "${1#*=}") ;;
      --no-cache) fresh=true ;;
      -*) [ $# -gt 1 ] || fail "$1 needs a value"; pairs+=("$1" "$2"); shift ;;
      *) unsupported "'$1'" ;;
    esac
    shift
  done
  local at key value part
  for ((at = 0; at < ${#pairs[@]}; at += 2)); do
    key=${pairs[at]} value=${pairs[at + 1]}
    case $key in
      --progress) ;;
      --frontend) [ "$value" = dockerfile.v0 ] || unsupported "--frontend $value" ;;
      --local)
        case $value in
          context=*) context=${value#*=} ;;
          dockerfile=*) folder=${value#*=} ;;
          *) unsupported "--local $value" ;;
        esac ;;
      --opt)
        case $value in
          filename=*) file=${value#*=} ;;
          target=*) target=${value#*=} ;;
          build-arg:*=*)
            part=${value#build-arg:}
            quote "${part%%=*}"
            arguments+="${arguments:+,}$quoted:"
            quote "${part#*=}"
            arguments+=$quoted ;;
          *) unsupported "--opt $value" ;;
        esac ;;
      --output | -o)
        case $value in
          type=docker,name=* | type=image,name=*) image=${value#*,name=} ;;
          *) unsupported "$key $value" ;;
        esac ;;
      *) unsupported "$key" ;;
    esac
  done
  [ -n "$context" ] || fail "--local context=DIRECTORY is needed"
  context=$(realpath -e -- "$context") && [ -d "$context" ] || fail "the context is no directory"
  file=$(realpath -e -- "${folder:-$context}/$file") && [ -f "$file" ] ||
    fail "failed to read the Dockerfile"
  [[ $image =~ ^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$ ]] ||
    fail "--output type=docker,name=IMAGE needs an image's name"
  local record json
  quote "$image"
  json="\"image\":$quoted"
  quote "$context"
  json+=",\"context\":$quoted"
  quote "$file"
  json+=",\"dockerfile\":$quoted"
  quote "$target"
  json+=",\"target\":$quoted,\"no_cache\":$fresh,\"build_args\":{$arguments}"
  record=$(record_of "$image")
  mkdir -p "$records" || exit 1
  echo "{\"version\":1,$json}" >"$record.new" && mv "$record.new" "$record" || exit 1
  {
    echo "Cay recorded the build of $image from $file."
    echo "The build runs when the image is captured as a snapshot. What fails then, with its line"
    echo "and the last output, is the snapshot's status_message."
  } >&2
  echo "cay-build $image"
}

buildctl() {
  while [ $# -gt 0 ]; do
    case $1 in
      --addr) address=${2-}; shift ;;
      --addr=*) address=${1#*=} ;;
      --version) native; exit 0 ;;
      --debug) ;;
      *) break ;;
    esac
    shift
  done
  case ${1-} in
    debug)
      [ "${2-}" = workers ] || unsupported "'debug ${2-}'"
      runs || fail "no buildkitd at $address"
      printf 'ID\tPLATFORMS\ncay\tlinux/%s\n' "$(uname -m | sed 's/x86_64/amd64/;s/aarch64/arm64/')"
      native >&2 ;;
    build)
      runs || fail "no buildkitd at $address"
      shift
      build "$@" ;;
    *) unsupported "'${1-}'" ;;
  esac
}

# The program `docker` here while buildkitd runs: its info, and its load of what buildctl wrote.
docker() {
  local other begin image
  other=$(real)
  case ${1-} in
    info)
      [ -n "$other" ] && "$other" "$@" 2>/dev/null && exit 0
      native ;;
    load)
      [ $# = 1 ] || { [ -n "$other" ] && exec "$other" "$@"; unsupported "'load ${*:2}'"; }
      begin=$(mktemp) || exit 1
      head -c 256 >"$begin"
      image=$(tr -d '\0' <"$begin" | sed -n '1s/^cay-build //p')
      if [ -n "$image" ] && [ -f "$(record_of "$image")" ]; then
        rm -f "$begin"
        echo "Recorded image: $image (Cay builds it when it is captured)"
      elif [ -n "$other" ]; then
        cat "$begin" - | "$other" load
        exit $?
      else
        rm -f "$begin"
        fail "this is no record of Cay's buildctl, and there is no Docker engine here"
      fi ;;
    *)
      [ -n "$other" ] && exec "$other" "$@"
      native >&2
      unsupported "'${1-}'" ;;
  esac
}

case $name in
  buildkitd | buildctl)
    other=$(real)
    [ -z "$other" ] || exec "$other" "$@" ;;
  docker) ;;
  *) fail "run it as buildkitd, buildctl or docker" ;;
esac
"$name" "$@"
)sh";

}  // namespace

Result<void> write_build_programs(TreeWriter& tree) {
  const bool has_bash = tree.has("usr/bin/bash") || tree.has("bin/bash");
  if (!has_bash || !tree.has("usr/local/sbin") || !tree.has("usr/local/lib")) return {};
  CAY_CHECK(tree.make_dir(kDirectory, 0755));
  CAY_CHECK(tree.make_file(kProgram, kText, 0755));
  for (const char* name : {"buildkitd", "buildctl"}) {
    const std::string path = "usr/local/sbin/" + std::string(name);
    if (tree.has(path)) continue;  // an admin's own
    CAY_CHECK(tree.make_link(path, "../lib/cay/build"));
  }
  return {};
}

}  // namespace cay::launcher
