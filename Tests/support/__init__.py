"""Helpers for tests of more than one folder: sessions, clients, stand-ins, and readers of the formats that share no
code with the vault. See Tests/README.md.
"""
