"""What a client must get for its request, row by row (RFC 9110, 9111, 9457).

Each chapter is a table of rows over one or more of the sites of sites.py.  What a row expects was
derived from the RFCs and from how the site was laid out, never from what a server answered.
"""
