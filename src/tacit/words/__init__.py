"""What people read and type: remarks of the library in words, and its actions as commands."""
