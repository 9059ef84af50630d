#!/usr/bin/env bash
# The Python and Node environments of the tests against the real daemon: build/testenv, build/node.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=build/testenv/.stamp
versions=tests/compat/langsmith/versions.txt
deepagents=1.14.1
mcp=1.32.2
mcp_inspector=2.12.0
want=$(cat tests/requirements*.txt $versions "$0" | sha256sum)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && exit 0

# virtual NAME REQUIREMENTS: a virtual environment build/NAME.
virtual() {
  /usr/bin/python3 -m venv "build/$1"
  "build/$1/bin/python" -m pip install -q --disable-pip-version-check -r "$2"
}
# tree NAME PACKAGE...: a folder build/node/NAME with these packages.
tree() {
  local dir=build/node/$1
  shift
  mkdir -p "$dir"
  [ -f "$dir/package.json" ] || echo '{"private":true,"type":"module"}' >"$dir/package.json"
  npm install --prefix "$dir" --no-audit --no-fund --silent "$@" >/dev/null
}
# langsmith VERSION: two folders of one install. Without the optional package ws the client uses
# HTTP alone.
langsmith() {
  tree "$1-with" --legacy-peer-deps "langsmith@$1" ws@8
  cp -al "build/node/$1-with" "build/node/$1-without"
  rm -r "build/node/$1-without/node_modules/ws"
}
# The oldest Python client still falls back to HTTP where the package websockets is missing.
without_websockets() {
  virtual testenv-nows tests/requirements-nows.txt
  build/testenv-nows/bin/python -m pip uninstall -q -y websockets
}

rm -rf build/node
virtual testenv tests/requirements.txt &
jobs=($!)
without_websockets &
jobs+=($!)
while read -r version; do
  langsmith "$version" &
  jobs+=($!)
done <$versions
# Trees of their own: deepagents needs an older langsmith than the newest, and no `ws` beside it,
# which MCP's packages bring.
tree deepagents "deepagents@$deepagents" &
jobs+=($!)
tree mcp "@modelcontextprotocol/sdk@$mcp" "@modelcontextprotocol/inspector@$mcp_inspector" &
jobs+=($!)
for job in "${jobs[@]}"; do
  wait "$job"
done
echo "$want" >"$stamp"
