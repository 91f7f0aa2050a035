"""The field: what people would use instead, on the same splits."""
