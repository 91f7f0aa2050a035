"""Study of the paper and comparison with other methods: the evidence of the book."""
