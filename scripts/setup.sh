#!/usr/bin/env bash
# Makes a virtual environment ready: `scripts/setup.sh run`, `scripts/setup.sh dev`. For make.
#
# Finds a Python, installs what requirements/<profile>.txt pins and Trilby itself (editable).
# A stamp remembers what was installed, so that a second call returns at once. The environment is
# .venv; one for the Python that $PYTHON names is beside it, so that neither replaces the other:
# `scripts/setup.sh folder` prints which.
# `scripts/setup.sh newest` prints the newest Python here, if it is newer than that of .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly profile="${1:?say which requirements: run or dev}"
readonly oldest="3.11"
readonly names="python3 python3.14 python3.13 python3.12 python3.11"

say() { printf 'trilby: %s\n' "$*" >&2; }

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
    say "installing from Debian: $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# True for an interpreter that runs, is new enough, can make virtual environments, and has the
# lock without which Trilby does not work.
suits() {
    "$1" -c "import ensurepip, sys, sysconfig, venv
sys.exit(sys.version_info < (${oldest/./, }) or bool(sysconfig.get_config_var('Py_GIL_DISABLED')))" \
        >/dev/null 2>&1
}

# The interpreters on the path, and those that pyenv has: its commands on the path may not work.
all_pythons() {
    # shellcheck disable=SC2086 # these are words
    type -aP $names || true
    if command -v pyenv >/dev/null; then
        ls -d "$(pyenv root)"/versions/*/bin/python3 2>/dev/null || true
    fi
}

# The interpreter that $PYTHON names: `python3.13` may be one that only pyenv finds.
named_python() {
    local candidate
    if ! suits "$PYTHON" && [[ "$PYTHON" != */* ]] && command -v pyenv >/dev/null; then
        for candidate in "$(pyenv root)"/versions/*/bin/"$PYTHON"; do
            if suits "$candidate"; then
                echo "$candidate"
                return
            fi
        done
    fi
    echo "$PYTHON"
}

# The release of an interpreter and where it is installed; the same for its virtual environments.
identity() {
    "$1" -c 'import sys; print(sys.version.split()[0], sys.base_prefix)' 2>/dev/null
}

venv_folder() {
    if [ -z "${PYTHON:-}" ]; then
        echo .venv
    else
        "$PYTHON" -c 'import sys; print(f".venv-{sys.implementation.cache_tag}")' 2>/dev/null ||
            echo .venv-none  # `need_python` says what is wrong with it
    fi
}

# The minor release of an interpreter, 13 for Python 3.13; nothing for one that is not finished.
minor() {
    "$1" -c 'import sys
if sys.version_info.releaselevel == "final": print(sys.version_info.minor)'
}

# Prints the newest Python on the path that suits, unless .venv has the same release or a newer.
newest_python() {
    local candidate newest="" most
    most="$(minor .venv/bin/python)"
    for candidate in $(all_pythons); do
        if suits "$candidate" && [[ "$(minor "$candidate")" -gt "$most" ]]; then
            newest="$candidate" most="$(minor "$candidate")"
        fi
    done
    if [ -n "$newest" ]; then
        echo "$newest"
    else
        say "there is no newer Python here than that of .venv, 3.$most"
    fi
}

# The one that $PYTHON names, or the first on the path that suits: `python3` may be an old one.
find_python() {
    local candidate
    for candidate in ${PYTHON:-$(all_pythons)}; do
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
        "apt-get install python3 python3-venv), or name one: make test PYTHON=/path/to/python3"
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

has_driver() {
    "$folder/bin/python" -c 'import trilby; trilby.Accelerator("opencl").close()' 2>/dev/null
}

# PoCL from PyPI does not know CPUs that are newer than its compiler; Debian's takes one like them.
need_driver() {
    if [ "$(uname -s)" != Linux ] || has_driver; then
        return
    fi
    if can_install && apt_install pocl-opencl-icd && has_driver; then
        return
    fi
    say "no OpenCL driver works here: going on without one. \`trilby devices\` says why." \
        "On Debian, as root: apt-get install pocl-opencl-icd"
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

# False for a virtual environment that lost its interpreter, was moved or copied here (the programs
# in it name the folder that it was made in), or is that of another Python than $PYTHON.
is_whole() {
    suits "$folder/bin/python" && is_of_python &&
        [[ "$("$folder/bin/pip" --version 2>/dev/null)" == *" from $(pwd -P)/$folder/"* ]]
}

is_of_python() {
    [ -z "${PYTHON:-}" ] || [ "$(identity "$PYTHON")" = "$(identity "$folder/bin/python")" ]
}

need_venv() {
    if is_whole; then
        return
    fi
    local python
    python="$(need_python)"
    say "making $folder with $("$python" --version) ($python)"
    "$python" -m venv --clear "$folder"
}

fingerprint() {
    echo "$PWD"
    cat requirements/*.txt pyproject.toml scripts/setup.sh | cksum
}

# What `make test` needs includes what `make run` needs.
is_installed() {
    local stamp now
    now="$(fingerprint)"
    for stamp in "$folder/.installed-$profile" "$folder/.installed-dev"; do
        if [ -x "$folder/bin/python" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then
            is_of_python
            return
        fi
    done
    return 1
}

install() {
    say "installing requirements/$profile.txt"
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check \
        -r "requirements/$profile.txt"
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check \
        --no-build-isolation --no-deps --editable .
    need_driver
    fingerprint >"$folder/.installed-$profile"
}

if [ -n "${PYTHON:-}" ]; then
    PYTHON="$(named_python)"
fi
case "$profile" in
    folder)
        venv_folder
        exit
        ;;
    newest)
        newest_python
        exit
        ;;
esac
folder="$(venv_folder)"
readonly folder

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
