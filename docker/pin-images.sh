#!/bin/sh
# Prints lines for .env that name the images of others by digest, as their registries answer today:
#   docker/pin-images.sh >> .env
set -eu
cd "$(dirname "$0")/.."
sed -n 's/^ *image: ${\(ANYSHOT_[A-Z_]*_IMAGE\):-\([^}]*\)}.*/\1 \2/p' docker-compose.yml | while read -r name image; do
    docker pull --quiet "$image" >&2
    echo "$name=$(docker image inspect --format '{{index .RepoDigests 0}}' "$image")"
done
