# Shared by setup.sh and lock.sh (sourced from the project's root): where packages come from.

# The folders that pip would look into and that hold torch's CPU build for this machine and CPython $1 ("311"; "*" for
# any), separated by commas as uv wants them. PyPI has no CPU build, and uv does not read pip's variable.
torch_folders() {
    found=
    for folder in ${PIP_FIND_LINKS:-}; do
        for wheel in "$folder"/torch-*+cpu-cp${1}-cp*_"$(uname -m)".whl; do
            [ -e "$wheel" ] && found="${found:+$found,}$folder" && break
        done
    done
    echo "$found"
}

# Behind a company's proxy the system knows the certificate to trust; uv on its own trusts only the list it brings.
[ ! -s /etc/ssl/certs/ca-certificates.crt ] || export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
