"""Routes: each file is one part of what callers may see and do."""
