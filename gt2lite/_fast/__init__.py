"""The fast path: the same maths as in `memberships` and `reduction`, laid out for speed."""
