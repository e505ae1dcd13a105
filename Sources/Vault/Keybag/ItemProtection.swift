// A module that imports keys also needs the types of protected items. The client library needs only those types.
@_exported import LatchkeyItemProtection
