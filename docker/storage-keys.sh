#!/bin/sh
# Makes the bucket, and a user whose keys open that bucket and nothing else. Harmless when repeated.
set -eu
mc alias set site http://storage:9000 root "$STORAGE_ROOT_PASSWORD"
mc mb --ignore-existing site/anyshot
mc admin user add site anyshot "$S3_SECRET_KEY"
mc admin policy create site anyshot /keys/storage-policy.json
mc admin policy attach site anyshot --user anyshot || mc admin policy entities site --user anyshot | grep -q anyshot
