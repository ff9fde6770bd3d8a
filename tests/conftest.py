"""Settings for all tests.

Property tests draw the same examples in every run, so that a red run can be repeated.
`pytest --hypothesis-profile=search` draws new ones, and more of them.
"""

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("repeatable")
