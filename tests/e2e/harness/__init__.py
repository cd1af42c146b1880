"""What the end-to-end tests are made of: a server, clients, a tree of files, tools."""
