"""The book builder: executes chapters with papermill and compiles them with Jupyter Book.

`source` reads the table of contents, chapters and profiles; `execute` runs chapters; `pages` stages
and compiles them; `sphinx_ext` is our Sphinx extension; `offline` checks that pages load nothing
from other hosts; `browser`, `slides` and `lab` serve the PDF, the slides and JupyterLab. The
command in front of them is `tools/book.py`.
"""
