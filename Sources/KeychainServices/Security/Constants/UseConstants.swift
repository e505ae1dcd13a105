public import Foundation

// How a call may ask the person.

/// An `LAContext` that says how the person is asked, or brings the item's passphrase.
public nonisolated(unsafe) let kSecUseAuthenticationContext: CFString = "u_AuthCtx"

/// Whether the person may be asked: one of the three values below. Without this key, they may.
public nonisolated(unsafe) let kSecUseAuthenticationUI: CFString = "u_AuthUI"

/// The person may be asked.
public nonisolated(unsafe) let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"

/// The person is not asked. If an answer is necessary, the call returns `errSecInteractionNotAllowed`.
public nonisolated(unsafe) let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"

/// The person is not asked. A search leaves out items that need an answer.
public nonisolated(unsafe) let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"

/// Older form of ``kSecUseAuthenticationUIFail``: true forbids questions to the person.
public nonisolated(unsafe) let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"

/// The text that the person reads in a prompt. Deprecated by Apple: use an `LAContext`.
public nonisolated(unsafe) let kSecUseOperationPrompt: CFString = "u_OpPrompt"

/// Not available on Linux: a query with this key returns `errSecUnimplemented`. Find each item by its persistent reference instead.
public nonisolated(unsafe) let kSecUseItemList: CFString = "u_ItemList"

/// Says which of two keychains a Mac uses. Linux has only one, so the key changes nothing.
public nonisolated(unsafe) let kSecUseDataProtectionKeychain: CFString = "nleg"
