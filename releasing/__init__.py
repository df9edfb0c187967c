"""`make release VERSION=x.y.z`: from a clean checkout to files, a commit and a tag (docs/developers/releases.md)."""
