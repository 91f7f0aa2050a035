"""The version of the package, apart so that any module may tell it."""

__version__ = "0.1.0"
