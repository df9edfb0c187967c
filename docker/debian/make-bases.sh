#!/bin/sh
# Base images where no registry answers: Debian's packages, by mmdebstrap. Each is made only if it is absent.
#   docker/debian/make-bases.sh [NAME]   the images anyshot/debian-{python,platform,servers,proxy}, or one of them
set -eu
only=${1:-}

make_base() { # name, packages
    [ -z "$only" ] || [ "$1" = "anyshot/debian-$only:bookworm" ] || return 0
    docker image inspect "$1" >/dev/null 2>&1 && return 0
    archive=$(mktemp)
    trap 'rm -f "$archive"' EXIT
    mmdebstrap --quiet --variant=apt --format=tar --include="$2" bookworm "$archive"
    docker import --change 'CMD ["bash"]' "$archive" "$1" >/dev/null
    rm -f "$archive"
}

make_base anyshot/debian-python:bookworm python3,python3-venv,python3-pip,ca-certificates
make_base anyshot/debian-platform:bookworm python3,python3-venv,python3-pip,ca-certificates,postgresql-client-15
make_base anyshot/debian-servers:bookworm postgresql,redis-server
make_base anyshot/debian-proxy:bookworm nginx-light
