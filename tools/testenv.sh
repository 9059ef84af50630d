#!/usr/bin/env bash
# The Python and Node environments of the tests against the real daemon: build/testenv, build/node.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=build/testenv/.stamp
want=$(cat tests/requirements.txt tests/compat/langsmith/versions.txt | sha256sum)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && exit 0
/usr/bin/python3 -m venv build/testenv
build/testenv/bin/python -m pip install -q --disable-pip-version-check -r tests/requirements.txt
# Two Python environments: with and without the WebSocket package (the client then falls back to HTTP).
/usr/bin/python3 -m venv build/testenv-nows
build/testenv-nows/bin/python -m pip install -q --disable-pip-version-check -r tests/requirements-nows.txt
build/testenv-nows/bin/python -m pip uninstall -q -y websockets
while read -r version; do
  [ -z "$version" ] && continue
  for ws in with without; do
    dir=build/node/$version-$ws
    mkdir -p "$dir"
    [ -f "$dir/package.json" ] || echo '{"private":true,"type":"module"}' >"$dir/package.json"
    packages="langsmith@$version"
    [ $ws = with ] && packages="$packages ws@8"
    # shellcheck disable=SC2086
    npm install --prefix "$dir" --no-audit --no-fund --silent --legacy-peer-deps $packages >/dev/null
  done
done <tests/compat/langsmith/versions.txt
echo "$want" >"$stamp"
