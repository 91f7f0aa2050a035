"""Reports on your own table: `gt2lite.practice.report`, under the name that users type."""

from gt2lite.practice.report import Report, TableError, TableModel, load, page, read, report

__all__ = ["Report", "TableError", "TableModel", "load", "page", "read", "report"]
