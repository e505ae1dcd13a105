// A module that imports the keybag also needs the types of ItemProtection. They are a separate module,
// because the client library needs only these types.
@_exported import LatchkeyItemProtection
