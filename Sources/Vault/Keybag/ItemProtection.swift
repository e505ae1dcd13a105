// A module that imports keys also needs the types of protected items. The client library needs those types alone.
@_exported import LatchkeyItemProtection
