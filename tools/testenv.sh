#!/usr/bin/env bash
# The Python and Node environments of the tests against the real daemon: build/testenv, build/node.
# The packages of python/ and npm/ are built and installed there, again whenever they change.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=build/testenv/.stamp
versions=tests/compat/langsmith/versions.txt
deepagents=1.14.1
typescript=5.9.3
node_types=22.20.5
langchain_openai=1.6.0
daytona=0.218.0
langchain_daytona=0.1.2
mcp=1.32.2
mcp_inspector=2.12.0
langchain_tests=1.1.9
expect=30.5.2
standard_tests=@langchain/sandbox-standard-tests
standard_version=2.0.0
want=$(cat tests/requirements*.txt $versions "$0" | sha256sum)

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
# daytona: its own client, and the backend of deepagents on that same version.
daytona() {
  mkdir -p build/node/daytona
  echo '{"private":true,"type":"module","overrides":{"@daytonaio/sdk":"'$daytona'"}}' \
    >build/node/daytona/package.json
  tree daytona --legacy-peer-deps "@daytonaio/sdk@$daytona" "@langchain/daytona@$langchain_daytona"
  ln -sfn ../../deepagents/node_modules/deepagents build/node/daytona/node_modules/deepagents
}
# The oldest Python client still falls back to HTTP where the package websockets is missing.
without_websockets() {
  virtual testenv-nows tests/requirements-nows.txt
  build/testenv-nows/bin/python -m pip uninstall -q -y websockets
}

# standard: the vendors' suites for sandboxes. That of Python lies above the packages of testenv,
# since it brings plugins of pytest. Not each registry has that of JavaScript.
standard() {
  /usr/bin/python3 -m venv --clear build/standard
  build/testenv/bin/python -c 'import site; print(site.getsitepackages()[0])' \
    >"$(build/standard/bin/python -c 'import site; print(site.getsitepackages()[0])')/testenv.pth"
  build/standard/bin/python -m pip install -q --disable-pip-version-check \
    "langchain-tests==$langchain_tests"
  tree deepagents "$standard_tests@$standard_version" || true
}

# of_the_tree: the packages as a user installs them.
of_the_tree() {
  local node=build/node/deepagents package=build/npm/cay-deepagents
  build/testenv/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation \
    --no-deps --force-reinstall ./python/cay_client ./python/cay_deepagents \
    ./python/cay_openai_agents
  rm -rf $package
  mkdir -p $package
  cp -r npm/cay-deepagents/{package.json,tsconfig.json,README.md,src} $package/
  ln -s "$PWD/$node/node_modules" $package/node_modules
  (cd $package && node_modules/.bin/tsc -p . && npm pack --silent >/dev/null)
  npm install --prefix $node --no-audit --no-fund --silent ./$package/cay-deepagents-*.tgz \
    >/dev/null
}

environments() {
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
  tree deepagents "deepagents@$deepagents" "@langchain/openai@$langchain_openai" \
    "typescript@$typescript" "@types/node@$node_types" "expect@$expect" &
  jobs+=($!)
  daytona &
  jobs+=($!)
  tree mcp "@modelcontextprotocol/sdk@$mcp" "@modelcontextprotocol/inspector@$mcp_inspector" &
  jobs+=($!)
  for job in "${jobs[@]}"; do
    wait "$job"
  done
  standard
  echo "$want" >"$stamp"
}

packages=build/testenv/.packages
built=(-name node_modules -o -name dist -o -name __pycache__)
have=$(find python npm \( "${built[@]}" \) -prune -o -type f -print | sort | xargs sha256sum |
  sha256sum)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] || { rm -f $packages; environments; }
[ -f $packages ] && [ "$(cat $packages)" = "$have" ] || { of_the_tree; echo "$have" >$packages; }
[ -e "build/node/deepagents/node_modules/$standard_tests" ] ||
  [ -n "${CAY_SANDBOX_STANDARD_TESTS:-}" ] ||
  echo "testenv: SKIPPED the suite of deepagents' JavaScript: npm has no $standard_tests here"
