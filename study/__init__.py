"""The study of the paper and of the field: what the book's evidence is made of."""
