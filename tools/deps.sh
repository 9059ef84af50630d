# Installs what a fresh Debian 12 lacks. Sourced by ./run and ./test: `cay_install build|test|long`.
# Nothing is asked of the network when all is there already.

CAY_APT_RUN="btrfs-progs ca-certificates curl python3 python3-pip python3-venv"
CAY_APT_BUILD="clang-19 lld-19 cmake ninja-build ccache pkg-config libboost1.81-dev libboost-json1.81-dev \
libsqlite3-dev libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev libarchive-dev libre2-dev libssl-dev libbpf-dev libelf-dev zlib1g-dev python3"
# The last line: programs that make, or import, calls which few make (tests/kernel/test_needed_calls.py).
CAY_APT_TEST="zstd libgtest-dev libseccomp-dev libclang-rt-19-dev llvm-19 clang-format-19 python3-venv python3-pip git procps iproute2 nodejs npm gdb-minimal \
fakeroot libglib2.0-bin liburcu8 rt-tests strace docker-registry skopeo valgrind"
CAY_APT_LONG="qemu-system-x86 mmdebstrap e2fsprogs"
# Unpacked by tests/long databases, never installed: for test_databases.py and test_gate_servers.py.
CAY_APT_DATABASES="postgresql-15 postgresql-client-15 libpq5 redis-server redis-tools \
libjemalloc2 liblzf1 libldap-2.5-0 libsasl2-2 libxslt1.1 libxml2 libicu72 libgssapi-krb5-2 \
libkrb5-3 libk5crypto3 libkrb5support0 libkeyutils1 libcom-err2 liblz4-1 libatomic1 libreadline8 \
libpam0g libaudit1 libcap-ng0 mariadb-server-core mariadb-client-core libmariadb3 libaio1 \
liburing2 libnuma1 memcached libmemcached-tools libmemcached11 libhashkit2 libevent-2.1-7 msmtp \
libgsasl18 libgssglue1 libsecret-1-0 libntlm0 libidn12 python3-aiosmtpd python3-public \
python3-attr openssh-server openssh-client libwrap0 libnsl2 libtirpc3 libedit2 libbsd0"

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then
    if sudo -n true 2>/dev/null; then sudo "$@"
    elif [ -n "${no_questions:-}" ]; then return 1
    else
      echo "cay: this step needs root; sudo asks for your password: $1 $2" >&2
      sudo "$@"
    fi
  else
    echo "cay: this step needs root: install sudo, or run it as root: $*" >&2
    return 1
  fi
}

# cay_configure PRESET [ARGS]: says nothing unless it fails. A new tree gets precompiled headers and unity builds; an
# old one stays what it is.
cay_configure() {
  local log quick=""
  # ninja itself sees to what changes later, but for the presets.
  [ "build/$1/build.ninja" -nt CMakePresets.json ] && return 0
  log=$(mktemp)
  [ -e "build/$1/CMakeCache.txt" ] || quick="-DCAY_PCH=ON -DCAY_UNITY=ON"
  # shellcheck disable=SC2086
  cmake --preset "$@" $quick >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
  rm -f "$log"
}

cay_install() {
  local want="$CAY_APT_RUN $CAY_APT_BUILD" missing="" package
  [ "$1" = test ] && want="$want $CAY_APT_TEST"
  [ "$1" = long ] && want="$CAY_APT_LONG"
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "cay: this is not a Debian system: install by hand what tools/deps.sh lists" >&2
    return 0
  fi
  for package in $want; do
    case "$package" in
      nodejs|npm) command -v "${package%js}" >/dev/null 2>&1 && continue ;;  # of another origin than Debian's they are as good
      gdb-minimal) command -v gcore >/dev/null 2>&1 && continue ;;           # gdb, which cannot be beside it, has it too
    esac
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
  [ -z "$missing" ] && return 0
  echo "cay: installing:$missing"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq || return 1
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
    echo "cay: apt-get could not install:$missing" >&2
    return 1
  }
}
