"""What the book's command-line tools and its local Sphinx extensions share.

The site, the notebooks and the execution cache must agree on addresses, numbers and cache keys.
Each of those is therefore computed once, here, and imported by both sides.
"""
