# Writes requirements/cpu.txt and gpu.txt from pyproject.toml, for Python 3.11 to 3.13, naming no index and no folder,
# so that they hold on every machine. Run from the project's root by `make lock`; arguments go to uv (--upgrade).
set -eu
. requirements/common.sh

compile() {
    device=$1 && shift
    echo "lock: requirements/$device.txt" >&2
    .venv/bin/uv pip compile pyproject.toml --extra "$device" --extra dev --universal --python-version 3.11 \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet \
        --output-file "requirements/$device.txt" "$@"
}

compile gpu "$@"
folders=$(torch_folders "*")
if [ -n "$folders" ]; then
    export UV_FIND_LINKS="$folders"
else
    set -- --torch-backend cpu "$@"
fi
compile cpu --override requirements/overrides.txt "$@"
