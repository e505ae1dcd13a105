// Result codes. The numbers are Apple's.

/// The result of this library's functions: `errSecSuccess`, or the reason for the failure.
public typealias OSStatus = Int32

/// No error: the same as ``errSecSuccess``.
public let noErr: OSStatus = 0

/// The call worked.
public let errSecSuccess: OSStatus = 0

/// Linux has no such item, requirement or result. Keys, certificates and identities cannot be added.
public let errSecUnimplemented: OSStatus = -4

/// No room on the disk.
public let errSecDiskFull: OSStatus = -34

/// The answer to a change was lost, so nobody knows whether the vault made it.
public let errSecIO: OSStatus = -36

/// The file is open for writing already. No call returns it.
public let errSecOpWr: OSStatus = -49

/// A key or value that the call does not take, or two that contradict each other.
public let errSecParam: OSStatus = -50

/// The vault's files cannot be written. No call returns it.
public let errSecWrPerm: OSStatus = -61

/// Out of memory.
public let errSecAllocate: OSStatus = -108

/// The person dismissed the prompt.
public let errSecUserCanceled: OSStatus = -128

/// A request that makes no sense in this state. No call returns it.
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

/// An update to an access group that the program did not declare, or that an item of another program cannot move to.
public let errSecNoAccessForItem: OSStatus = -25243

/// The owner of a Mac's item cannot change. No call returns it.
public let errSecInvalidOwnerEdit: OSStatus = -25244

/// Nothing is known of trust. No call returns it.
public let errSecTrustNotAvailable: OSStatus = -25245

/// A format that cannot be imported or exported. No call returns it.
public let errSecUnsupportedFormat: OSStatus = -25256

/// An unknown format of an import. No call returns it.
public let errSecUnknownFormat: OSStatus = -25257

/// A key must be wrapped for its export. No call returns it.
public let errSecKeyIsSensitive: OSStatus = -25258

/// An import of several private keys. No call returns it.
public let errSecMultiplePrivKeys: OSStatus = -25259

/// An import or export needs a passphrase. No call returns it.
public let errSecPassphraseRequired: OSStatus = -25260

/// The reference to a password is invalid. No call returns it.
public let errSecInvalidPasswordRef: OSStatus = -25261

/// The settings of trust are damaged. No call returns it.
public let errSecInvalidTrustSettings: OSStatus = -25262

/// There are no settings of trust. No call returns it.
public let errSecNoTrustSettings: OSStatus = -25263

/// An import of PKCS #12 with a wrong passphrase. No call returns it.
public let errSecPkcs12VerifyFailure: OSStatus = -25264

/// There is no session bus or no vault, or another program provides `org.freedesktop.secrets`.
public let errSecNotAvailable: OSStatus = -25291

/// The vault takes no changes. No call returns it.
public let errSecReadOnly: OSStatus = -25292

/// A wrong password, passphrase or finger, an invalidated context, or a login without what the item's class requires.
public let errSecAuthFailed: OSStatus = -25293

/// There is no such keychain. No call returns it.
public let errSecNoSuchKeychain: OSStatus = -25294

/// A Mac's file that is not a keychain. No call returns it.
public let errSecInvalidKeychain: OSStatus = -25295

/// A keychain of this name exists already. No call returns it.
public let errSecDuplicateKeychain: OSStatus = -25296

/// The callback is installed already. No call returns it.
public let errSecDuplicateCallback: OSStatus = -25297

/// The callback is invalid. No call returns it.
public let errSecInvalidCallback: OSStatus = -25298

/// An item with the same primary attributes exists already.
public let errSecDuplicateItem: OSStatus = -25299

/// No item matches.
public let errSecItemNotFound: OSStatus = -25300

/// A buffer is too small for the item. No call returns it.
public let errSecBufferTooSmall: OSStatus = -25301

/// The secret or the attributes are larger than the vault takes, or the query matches too many items.
public let errSecDataTooLarge: OSStatus = -25302

/// An attribute that items of this class do not have.
public let errSecNoSuchAttr: OSStatus = -25303

/// The item is gone. No call returns it.
public let errSecInvalidItemRef: OSStatus = -25304

/// The reference to a search is invalid. No call returns it.
public let errSecInvalidSearchRef: OSStatus = -25305

/// A class that does not exist.
public let errSecNoSuchClass: OSStatus = -25306

/// There is no default keychain. No call returns it.
public let errSecNoDefaultKeychain: OSStatus = -25307

/// The item is locked, or requires the person, who was not asked or did not answer. <doc:ErrorCodes> says how to tell these apart.
public let errSecInteractionNotAllowed: OSStatus = -25308

/// The attribute cannot be changed. No call returns it.
public let errSecReadOnlyAttr: OSStatus = -25309

/// The keychain is of another version. No call returns it.
public let errSecWrongSecVersion: OSStatus = -25310

/// A size that keys cannot have. No call returns it.
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

/// The certificate was not signed by that parent. No call returns it.
public let errSecNotSigner: OSStatus = -26267

/// The item is damaged.
public let errSecDecode: OSStatus = -26275

/// The program did not declare the access group, or its file of entitlements names none.
public let errSecMissingEntitlement: OSStatus = -34018

/// A service of a Mac's is missing. No call returns it.
public let errSecServiceNotAvailable: OSStatus = -67585
