// A module that imports keys also needs what they protect. The client library needs the latter alone.
@_exported import LatchkeyItemProtection
