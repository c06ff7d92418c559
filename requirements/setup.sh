# Sets up .venv exactly as requirements/cpu.txt or gpu.txt says, or does nothing where that has been done.
#
# Run from the project's root by `make`. Environment: PYTHON (an interpreter), DEVICE (cpu or gpu), both optional.
# .venv/.setup-done is written last and holds what was set up; a .venv without it is unfinished and made anew.
set -eu
. requirements/common.sh

uv_version=0.13.9  # pinned: what the locks were made and tried with
stamp=.venv/.setup-done

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 1; }

# Does $1 run (a pyenv shim may not), and is it a Python we support, able to make virtual environments?
fits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

version_of() { "$1" -c 'import sys; print("%d%d" % sys.version_info[:2])' 2>/dev/null || true; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "PYTHON=$PYTHON is no Python 3.11, 3.12 or 3.13 with venv and pip."
        echo "$PYTHON" && return
    fi
    candidates="python3 python3.13 python3.12 python3.11"
    if [ "$device" = cpu ]; then  # a Python that a torch at hand is built for saves fetching one
        for candidate in $candidates; do
            fits "$candidate" && [ -n "$(torch_folders "$(version_of "$candidate")")" ] && echo "$candidate" && return
        done
    fi
    for candidate in $candidates; do
        fits "$candidate" && echo "$candidate" && return
    done
    fail "no Python 3.11, 3.12 or 3.13 with venv and pip found (on Debian and Ubuntu: apt install python3-venv)." \
        "If it lies elsewhere: make PYTHON=/path/to/python3.12 ..."
}

device=${DEVICE:-}
if [ -z "$device" ]; then
    if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then device=gpu; else device=cpu; fi
fi
locked=requirements/$device.txt
[ -f "$locked" ] || fail "DEVICE=$device: it must be cpu or gpu."

# All that the environment follows from, so not the tools' settings.
wanted="$({ sed '/^\[tool\./,$d' pyproject.toml; cat "$locked" requirements/setup.sh; } | cksum) $device $(pwd)"
is_done() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; }

# Another Python, or a folder that was moved (scripts in .venv name it): begin anew.
if [ -n "${PYTHON:-}" ] && [ "$(version_of "$PYTHON")" != "$(version_of .venv/bin/python)" ] ||
    ! grep -qsF " $(pwd)" "$stamp"; then
    rm -f "$stamp"
fi
! is_done || exit 0
python=$(find_python)

# One set-up at a time. The lock is this file, held open by this shell and all it starts: it ends when they do, even by
# a kill, and not before uv has stopped writing.
exec 9<requirements/setup.sh
lock_file() { "$python" -c "import fcntl; fcntl.flock(9, $1)"; }
if ! lock_file "fcntl.LOCK_EX | fcntl.LOCK_NB" 2>/dev/null; then
    say "waiting for another set-up of this folder to end"
    lock_file fcntl.LOCK_EX
    ! is_done || exit 0
fi

if [ -f "$stamp" ] && .venv/bin/python -c '' 2>/dev/null; then
    say "bringing .venv up to date with $locked"
else
    size="about 3 GB"
    [ "$device" = cpu ] || size="about 10 GB"
    say "first time: installs $size into .venv with $("$python" --version) for the $device; this takes minutes"
    say "making the virtual environment"
    "$python" -m venv --clear .venv
fi
rm -f "$stamp"

say "installing uv $uv_version"
.venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$uv_version" ||
    fail "uv could not be installed: see pip's message above; is the package index reachable? Then run the command again."

set --
if [ "$device" = cpu ]; then
    folders=$(torch_folders "$(version_of .venv/bin/python)")
    if [ -n "$folders" ]; then
        export UV_FIND_LINKS="$folders"
        say "torch comes from $folders"
    else
        set -- --torch-backend cpu
        say "torch comes from PyTorch's CPU index (download.pytorch.org)"
    fi
fi
say "installing the packages of $locked"
# Bytecode is compiled now: where Python may not write it later (PYTHONDONTWRITEBYTECODE, a read-only folder), every start
# would compile vLLM and Prefect again (19 s instead of 9 s for `import vllm`).
.venv/bin/uv pip sync --python .venv/bin/python --compile-bytecode "$@" "$locked" &&
    .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable . ||
    fail "the packages could not be installed: see the message above. Running the command again goes on from there."

echo "$wanted" > "$stamp"
say "done"
