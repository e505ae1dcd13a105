public import Foundation

// How a call may ask the person.

/// An `LAContext` that says how the person is asked, or brings the item's passphrase.
public nonisolated(unsafe) let kSecUseAuthenticationContext: CFString = "u_AuthCtx"

/// Whether the person may be asked: one of the three values below. Without, they may.
public nonisolated(unsafe) let kSecUseAuthenticationUI: CFString = "u_AuthUI"

/// The person may be asked.
public nonisolated(unsafe) let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"

/// The person is not asked. If that would be necessary, the call is `errSecInteractionNotAllowed`.
public nonisolated(unsafe) let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"

/// The person is not asked. A search leaves out items for which that would be necessary.
public nonisolated(unsafe) let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"

/// Older form of ``kSecUseAuthenticationUIFail``: true forbids to ask.
public nonisolated(unsafe) let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"

/// The text for the person when they are asked. Deprecated by Apple: use an `LAContext`.
public nonisolated(unsafe) let kSecUseOperationPrompt: CFString = "u_OpPrompt"

/// Not available on Linux: a query with it is `errSecUnimplemented`. Find each item by its persistent reference instead.
public nonisolated(unsafe) let kSecUseItemList: CFString = "u_ItemList"

/// Which of two keychains a Mac is to use. On Linux there is one, and the key changes nothing.
public nonisolated(unsafe) let kSecUseDataProtectionKeychain: CFString = "nleg"
