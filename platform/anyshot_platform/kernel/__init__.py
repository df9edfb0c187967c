"""What everything else stands on and knows no competition: words, lists, signing, storage."""
