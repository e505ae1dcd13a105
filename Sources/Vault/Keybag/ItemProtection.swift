// Whoever knows keys knows what they protect. The client library knows the second without the first.
@_exported import LatchkeyItemProtection
