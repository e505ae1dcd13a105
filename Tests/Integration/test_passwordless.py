"""A login without a password: its vault is always open; what a password protects ends with it."""

from clients import CLASS
from peer import Peer
