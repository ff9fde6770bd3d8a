#!/usr/bin/env bash
# Makes .venv ready: `scripts/setup.sh run` or `scripts/setup.sh dev`. Called by make.
#
# Finds a Python, installs what requirements/<profile>.txt pins and Trilby itself (editable).
# A stamp remembers what was installed, so that a second call returns at once.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly profile="${1:?say which requirements: run or dev}"
readonly oldest="3.11"

say() { printf 'trilby: %s\n' "$*" >&2; }

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
    say "installing from Debian: $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# True for an interpreter that is new enough and can make virtual environments.
suits() {
    "$1" -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (${oldest/./, }))" \
        >/dev/null 2>&1
}

# The one that $PYTHON names, or the first on the path that suits: `python3` may be an old one.
find_python() {
    local candidate
    for candidate in \
        ${PYTHON:-$(type -aP python3 python3.14 python3.13 python3.12 python3.11 || true)}; do
        if suits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

need_python() {
    find_python && return
    if [ -n "${PYTHON:-}" ]; then
        say "PYTHON=$PYTHON is not a Python $oldest or newer with the venv module."
        return 1
    fi
    if can_install && apt_install python3 python3-venv >&2 && find_python; then
        return
    fi
    say "no Python $oldest or newer with the venv module was found. Install one (on Debian:" \
        "apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python3 make test"
    return 1
}

# PoCL, the embedded OpenCL driver, links each kernel with `ld`, libgcc and libc.
has_linker() {
    command -v ld >/dev/null && command -v gcc >/dev/null &&
        [[ "$(gcc -print-file-name=libc.so)" == /* ]]
}

need_linker() {
    if [ "$(uname -s)" != Linux ] || has_linker; then
        return
    fi
    if can_install && apt_install binutils gcc libc6-dev && has_linker; then
        return
    fi
    say "the embedded OpenCL driver links kernels with ld, libgcc and libc, and they are missing:" \
        "going on without it. On Debian, as root: apt-get install binutils gcc libc6-dev"
}

# Oclgrind judges the kernels of the lint tests; those tests are left out where it is missing.
need_judge() {
    if [ "$profile" != dev ] || [ "$(uname -s)" != Linux ] || command -v oclgrind-kernel >/dev/null
    then
        return
    fi
    if can_install && apt_install oclgrind && command -v oclgrind-kernel >/dev/null; then
        return
    fi
    say "oclgrind is missing: the tests that ask it for its opinion of kernels are left out." \
        "On Debian, as root: apt-get install oclgrind"
}

# Chromium shows the pages of reports to their tests; those are left out where it is missing.
need_browser() {
    if [ "$profile" != dev ] || [ "$(uname -s)" != Linux ] || command -v chromium >/dev/null; then
        return
    fi
    if can_install && apt_install chromium && command -v chromium >/dev/null; then
        return
    fi
    say "chromium is missing: the tests that look at pages in a browser are left out." \
        "On Debian, as root: apt-get install chromium"
}

# False for a virtual environment that lost its interpreter, or was moved or copied here: the
# programs in it name the folder that it was made in.
is_whole() {
    suits .venv/bin/python &&
        [[ "$(.venv/bin/pip --version 2>/dev/null)" == *" from $(pwd -P)/.venv/"* ]]
}

need_venv() {
    if is_whole; then
        return
    fi
    local python
    python="$(need_python)"
    say "making .venv with $("$python" --version) ($python)"
    "$python" -m venv --clear .venv
}

fingerprint() {
    echo "$PWD"
    cat requirements/*.txt pyproject.toml scripts/setup.sh | cksum
}

# What `make test` needs includes what `make run` needs.
is_installed() {
    local stamp now
    now="$(fingerprint)"
    for stamp in ".venv/.installed-$profile" .venv/.installed-dev; do
        if [ -x .venv/bin/python ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then
            return
        fi
    done
    return 1
}

install() {
    say "installing requirements/$profile.txt"
    .venv/bin/python -m pip install -qq --disable-pip-version-check \
        -r "requirements/$profile.txt"
    .venv/bin/python -m pip install -qq --disable-pip-version-check \
        --no-build-isolation --no-deps --editable .
    fingerprint >".venv/.installed-$profile"
}

need_linker
need_judge
need_browser
if is_installed; then
    exit
fi
# Two makes at once take turns, where the machine has flock.
if command -v flock >/dev/null; then
    exec 9>.setup.lock
    flock 9
fi
need_venv
is_installed || install
