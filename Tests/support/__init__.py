"""What tests of more than one folder use: sessions, clients, stand-ins, and readers of the formats that share nothing with
the vault. See Tests/README.md."""
