# Shared by the scripts: packages, builds, plain messages. Sourced, not run.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
cores=$(nproc)
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # they may force an older kernel
started=$(date +%s)

say() { printf '\n== %s\n' "$*"; }
seconds() { echo $(($(date +%s) - started)); }

# Debian's packages that are not there yet. `install_packages a b c`
install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    say "installing ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
        echo "please install them as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build_targets() {
    local all=() target
    for target in "${targets[@]}"; do
        if [ "$target" = objects ]; then
            mapfile -t -O ${#all[@]} all < <(ninja -C "build/$preset" -t targets all | sed -n 's/^\(.*\.o\): .*/\1/p')
        else
            all+=("$target")
        fi
    done
    ninja -C "build/$preset" -j "$cores" "${all[@]}"
}

# What every build needs (docs/design.md, section 7).
build_packages=(gcc libc6-dev make cmake ninja-build pkg-config ca-certificates
    libuv1-dev zlib1g-dev liblz4-dev libyaml-dev libisal-dev libzstd-dev libsqlite3-dev
    libprotobuf-c-dev protobuf-c-compiler libopenblas-pthread-dev libpcre2-dev libcjson-dev
    libpng-dev libjpeg62-turbo-dev
    libhttp-parser-dev libgrpc-dev libssl-dev)
test_packages=(libcmocka-dev clang libclang-rt-14-dev lld python3-venv curl openssl)

# `build PRESET [cmake options] [-- targets]`: configures and builds into build/PRESET; the target `objects` is all that
# is compiled, without links.
build() {
    local preset=$1 options=() targets
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
    targets=("${@:2}")
    say "building: $preset ${targets[*]}"
    local log
    log=$(mktemp)
    if ! { cmake --preset "$preset" "${options[@]}" && build_targets; } >"$log" 2>&1; then
        grep -E 'error|Error|FAILED' "$log" | head -n 20 >&2 || true
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "the build '$preset' failed" >&2
        exit 1
    fi
    grep '  built without' "$log" || true
    rm -f "$log"
}
