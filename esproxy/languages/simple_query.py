"""``simple_query_string`` has no field syntax, so there is nothing here to rewrite.

Its operators are ``+ | - " * ( ) ~``; a colon is text like any other (``a:b`` is analysed as ``a:b`` in the fields of
the request, checked on nodes by tests/integration/test_languages.py), there is no ``_exists_``, no range and no regular
expression, and no text is an error. Fields stand in the request's own ``fields`` list, whose entries are field names
with or without ``^boost``: ``lucene.split_boost``.
"""
