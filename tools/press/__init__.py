"""The press that prints the book: sources in, pages out.

=============== ===============================================================
`source`        what the book consists of: chapters, parameters, profiles
`address`       where the project lives on the web, if that is known
`execute`       chapters run, a few at a time
`runner`        the process that runs one chapter with papermill
`processes`     processes end with the build that started them
`stamps`        which chapters need not run again
`pages`         executed chapters staged and compiled
`outside`       pages checked: they load nothing from elsewhere
`browser`       the browser that prints the book
`extension`     the little that Sphinx has to be told
=============== ===============================================================

`tools/book.py` is the command in front of it.
"""
