public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Text for a result code, in English.
///
/// Some codes have several causes on Linux. If the last `SecItem` call on this thread returned such a code, a second sentence names
/// the cause and says what to do. `errSecInteractionNotAllowed` has three kinds of causes. The vault is locked, nobody has unlocked
/// it in this session yet, or it is unlocked but the person cannot be asked or did not answer. <doc:ErrorCodes> says how a program
/// tells the three apart.
///
/// - Parameters:
///   - status: Any code.
///   - reserved: Pass nil.
/// - Returns: Apple's sentence for a code of this library, and perhaps the cause on this machine; `OSStatus N` for any other code.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
  let text = StatusMessage.sentences[status] ?? "OSStatus \(status)"
  let advice = LastFailure.ofThread.flatMap { $0.status == status ? $0.cause?.advice : nil }
  return [text, advice].compactMap { $0 }.joined(separator: " ") as NSString
}

/// Sentences for result codes.
package enum StatusMessage {
  package static let sentences: [OSStatus: String] = [
    errSecSuccess: "No error.",
    errSecUnimplemented: "Function or operation not implemented.",
    errSecDiskFull: "The disk is full.",
    errSecIO: "I/O error.",
    errSecParam: "One or more parameters passed to a function were not valid.",
    errSecWrPerm: "Write permissions error.",
    errSecAllocate: "Failed to allocate memory.",
    errSecUserCanceled: "User canceled the operation.",
    errSecBadReq: "Bad parameter or invalid state for operation.",
    // Apple's header has no sentence for this code, and Apple's function returns its name.
    errSecInternalComponent: "errSecInternalComponent",
    errSecNoAccessForItem: "The specified item has no access control.",
    errSecNotAvailable: "No keychain is available. You may need to restart your computer.",
    errSecReadOnly: "This keychain cannot be modified.",
    errSecAuthFailed: "The user name or passphrase you entered is not correct.",
    errSecNoSuchKeychain: "The specified keychain could not be found.",
    errSecDuplicateItem: "The specified item already exists in the keychain.",
    errSecItemNotFound: "The specified item could not be found in the keychain.",
    errSecDataTooLarge: "This item contains information which is too large or in a format that cannot be displayed.",
    errSecNoSuchAttr: "The specified attribute does not exist.",
    errSecInvalidItemRef: "The specified item is no longer valid. It may have been deleted from the keychain.",
    errSecNoSuchClass: "The specified item does not appear to be a valid keychain item.",
    errSecNoDefaultKeychain: "A default keychain could not be found.",
    errSecInteractionNotAllowed: "User interaction is not allowed.",
    errSecInteractionRequired: "User interaction is required, but is currently not allowed.",
    errSecDataNotAvailable: "The contents of this item cannot be retrieved.",
    errSecDecode: "Unable to decode the provided data.",
    errSecMissingEntitlement: "A required entitlement isn't present.",
    // No call returns the following codes. They are here for programs that show the sentence of any code. Apple's header has no
    // sentence for the second one.
    errSecOpWr: "File already open with write permission.",
    errSecCoreFoundationUnknown: "errSecCoreFoundationUnknown",
    errSecACLNotSimple: "The specified access control list is not in standard (simple) form.",
    errSecPolicyNotFound: "The specified policy cannot be found.",
    errSecInvalidTrustSetting: "The specified trust setting is invalid.",
    errSecInvalidOwnerEdit: "Invalid attempt to change the owner of this item.",
    errSecTrustNotAvailable: "No trust results are available.",
    errSecUnsupportedFormat: "Import/Export format unsupported.",
    errSecUnknownFormat: "Unknown format in import.",
    errSecKeyIsSensitive: "Key material must be wrapped for export.",
    errSecMultiplePrivKeys: "An attempt was made to import multiple private keys.",
    errSecPassphraseRequired: "Passphrase is required for import/export.",
    errSecInvalidPasswordRef: "The password reference was invalid.",
    errSecInvalidTrustSettings: "The Trust Settings Record was corrupted.",
    errSecNoTrustSettings: "No Trust Settings were found.",
    errSecPkcs12VerifyFailure: "MAC verification failed during PKCS12 import (wrong password?)",
    errSecInvalidKeychain: "The specified keychain is not a valid keychain file.",
    errSecDuplicateKeychain: "A keychain with the same name already exists.",
    errSecDuplicateCallback: "The specified callback function is already installed.",
    errSecInvalidCallback: "The specified callback function is not valid.",
    errSecBufferTooSmall: "There is not enough memory available to use the specified item.",
    errSecInvalidSearchRef: "Unable to search the current keychain.",
    errSecReadOnlyAttr: "The specified attribute could not be modified.",
    errSecWrongSecVersion:
      "This keychain was created by a different version of the system software and cannot be opened.",
    errSecKeySizeNotAllowed: "This item specifies a key size which is too large or too small.",
    errSecNoStorageModule:
      "A required component (data storage module) could not be loaded. You may need to restart your computer.",
    errSecNoCertificateModule:
      "A required component (certificate module) could not be loaded. You may need to restart your computer.",
    errSecNoPolicyModule:
      "A required component (policy module) could not be loaded. You may need to restart your computer.",
    errSecDataNotModifiable: "The contents of this item cannot be modified.",
    errSecCreateChainFailed: "One or more certificates required to validate this certificate cannot be found.",
    errSecInvalidPrefsDomain: "The specified preferences domain is not valid.",
    errSecInDarkWake: "In dark wake, no UI possible",
    errSecNotSigner: "A certificate was not signed by its proposed parent.",
    errSecServiceNotAvailable: "The required service is not available.",
  ]
}
