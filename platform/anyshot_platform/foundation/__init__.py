"""What knows no competition: storage, queue, schemas of settings, isolated parsing, words for figures."""
