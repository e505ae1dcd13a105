// Result codes. The numbers are Apple's.

/// The result of this library's functions: `errSecSuccess`, or the reason for the failure.
public typealias OSStatus = Int32

/// No error: the same as ``errSecSuccess``.
public let noErr: OSStatus = 0

/// The call worked.
public let errSecSuccess: OSStatus = 0

/// Linux has no such item, requirement or result. Keys, certificates and identities cannot be added.
public let errSecUnimplemented: OSStatus = -4

/// The disk has no room.
public let errSecDiskFull: OSStatus = -34

/// The answer to a change was lost, so nobody knows whether the vault made it.
public let errSecIO: OSStatus = -36

/// The file is already open for writing. No call returns it.
public let errSecOpWr: OSStatus = -49

/// The call does not accept a key or value, or two of them contradict each other.
public let errSecParam: OSStatus = -50

/// The vault's files cannot be written. No call returns it.
public let errSecWrPerm: OSStatus = -61

/// Out of memory.
public let errSecAllocate: OSStatus = -108

/// The person dismissed the prompt.
public let errSecUserCanceled: OSStatus = -128

/// The request makes no sense in this state. No call returns it.
public let errSecBadReq: OSStatus = -909

/// The vault returned an invalid reply.
public let errSecInternalComponent: OSStatus = -2070

/// An error of Core Foundation. No call returns it.
public let errSecCoreFoundationUnknown: OSStatus = -4960

/// The access control list of a Mac's item is not simple. No call returns it.
public let errSecACLNotSimple: OSStatus = -25240

/// There is no such policy of trust. No call returns it.
public let errSecPolicyNotFound: OSStatus = -25241

/// A setting of trust is invalid. No call returns it.
public let errSecInvalidTrustSetting: OSStatus = -25242

/// The program did not declare the access group of an update, or the update would move another program's item to an access group.
public let errSecNoAccessForItem: OSStatus = -25243

/// The owner of a Mac's item cannot change. No call returns it.
public let errSecInvalidOwnerEdit: OSStatus = -25244

/// There is no information about trust. No call returns it.
public let errSecTrustNotAvailable: OSStatus = -25245

/// The format cannot be imported or exported. No call returns it.
public let errSecUnsupportedFormat: OSStatus = -25256

/// The import has an unknown format. No call returns it.
public let errSecUnknownFormat: OSStatus = -25257

/// A key must be encrypted for its export. No call returns it.
public let errSecKeyIsSensitive: OSStatus = -25258

/// The import has several private keys. No call returns it.
public let errSecMultiplePrivKeys: OSStatus = -25259

/// An import or export needs a passphrase. No call returns it.
public let errSecPassphraseRequired: OSStatus = -25260

/// The reference to a password is invalid. No call returns it.
public let errSecInvalidPasswordRef: OSStatus = -25261

/// The settings of trust are damaged. No call returns it.
public let errSecInvalidTrustSettings: OSStatus = -25262

/// There are no settings of trust. No call returns it.
public let errSecNoTrustSettings: OSStatus = -25263

/// The passphrase of a PKCS #12 import is wrong. No call returns it.
public let errSecPkcs12VerifyFailure: OSStatus = -25264

/// There is no session bus or no vault, or another program provides `org.freedesktop.secrets`.
public let errSecNotAvailable: OSStatus = -25291

/// The vault takes no changes. No call returns it.
public let errSecReadOnly: OSStatus = -25292

/// A password, passphrase or finger was wrong, the context is invalidated, or the login has no password or finger that the item
/// requires.
public let errSecAuthFailed: OSStatus = -25293

/// There is no such keychain. No call returns it.
public let errSecNoSuchKeychain: OSStatus = -25294

/// The file is not a Mac's keychain. No call returns it.
public let errSecInvalidKeychain: OSStatus = -25295

/// A keychain of this name already exists. No call returns it.
public let errSecDuplicateKeychain: OSStatus = -25296

/// The callback is already installed. No call returns it.
public let errSecDuplicateCallback: OSStatus = -25297

/// The callback is invalid. No call returns it.
public let errSecInvalidCallback: OSStatus = -25298

/// An item with the same primary attributes already exists.
public let errSecDuplicateItem: OSStatus = -25299

/// No item matches.
public let errSecItemNotFound: OSStatus = -25300

/// A buffer is too small for the item. No call returns it.
public let errSecBufferTooSmall: OSStatus = -25301

/// The secret or the attributes are larger than the vault accepts, or the query matches too many items.
public let errSecDataTooLarge: OSStatus = -25302

/// Items of this class do not have the attribute.
public let errSecNoSuchAttr: OSStatus = -25303

/// The item is gone. No call returns it.
public let errSecInvalidItemRef: OSStatus = -25304

/// The reference to a search is invalid. No call returns it.
public let errSecInvalidSearchRef: OSStatus = -25305

/// The class does not exist.
public let errSecNoSuchClass: OSStatus = -25306

/// There is no default keychain. No call returns it.
public let errSecNoDefaultKeychain: OSStatus = -25307

/// The item is locked, or the item requires the person's answer and there was none. <doc:ErrorCodes> says how to tell these apart.
public let errSecInteractionNotAllowed: OSStatus = -25308

/// The attribute cannot be changed. No call returns it.
public let errSecReadOnlyAttr: OSStatus = -25309

/// The keychain is of another version. No call returns it.
public let errSecWrongSecVersion: OSStatus = -25310

/// Keys cannot have this size. No call returns it.
public let errSecKeySizeNotAllowed: OSStatus = -25311

/// The module for storage is missing. No call returns it.
public let errSecNoStorageModule: OSStatus = -25312

/// The module for certificates is missing. No call returns it.
public let errSecNoCertificateModule: OSStatus = -25313

/// The module for policies is missing. No call returns it.
public let errSecNoPolicyModule: OSStatus = -25314

/// The person would have to be asked. No call returns it.
public let errSecInteractionRequired: OSStatus = -25315

/// The item's secret is not available. No call returns this code.
public let errSecDataNotAvailable: OSStatus = -25316

/// The item's secret cannot be changed. No call returns it.
public let errSecDataNotModifiable: OSStatus = -25317

/// A certificate of the chain is missing. No call returns it.
public let errSecCreateChainFailed: OSStatus = -25318

/// The domain of preferences is invalid. No call returns it.
public let errSecInvalidPrefsDomain: OSStatus = -25319

/// A Mac is awake with a dark screen. No call returns it.
public let errSecInDarkWake: OSStatus = -25320

/// The parent certificate did not sign this certificate. No call returns it.
public let errSecNotSigner: OSStatus = -26267

/// The item is damaged.
public let errSecDecode: OSStatus = -26275

/// The program did not declare the access group, or its file of entitlements names none.
public let errSecMissingEntitlement: OSStatus = -34018

/// A service of a Mac's is missing. No call returns it.
public let errSecServiceNotAvailable: OSStatus = -67585
