"""Integer channels, keys and keyed sampling."""
