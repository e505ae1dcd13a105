// Result codes. The numbers are Apple's.

/// The result of this library's functions: `errSecSuccess`, or the reason for the failure.
public typealias OSStatus = Int32

/// No error: the same as ``errSecSuccess``.
public let noErr: OSStatus = 0

/// It worked.
public let errSecSuccess: OSStatus = 0

/// Not there on Linux: keys, certificates and identities as items.
public let errSecUnimplemented: OSStatus = -4

/// No room on the disk.
public let errSecDiskFull: OSStatus = -34

/// The answer to a change was lost, so nobody knows whether the vault made it.
public let errSecIO: OSStatus = -36

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

/// An update to an access group that the program did not declare, or that an item of another program cannot move to.
public let errSecNoAccessForItem: OSStatus = -25243

/// There is no session bus or no vault, or another program provides `org.freedesktop.secrets`.
public let errSecNotAvailable: OSStatus = -25291

/// The vault takes no changes. No call returns it.
public let errSecReadOnly: OSStatus = -25292

/// A wrong password, passphrase or finger, an invalidated context, or a login without what the item's class requires.
public let errSecAuthFailed: OSStatus = -25293

/// There is no such keychain. No call returns it.
public let errSecNoSuchKeychain: OSStatus = -25294

/// An item with the same primary attributes exists already.
public let errSecDuplicateItem: OSStatus = -25299

/// No item matches.
public let errSecItemNotFound: OSStatus = -25300

/// The secret or the attributes are larger than the vault takes, or the query matches too many items.
public let errSecDataTooLarge: OSStatus = -25302

/// An attribute that items of this class do not have.
public let errSecNoSuchAttr: OSStatus = -25303

/// The item is gone. No call returns it.
public let errSecInvalidItemRef: OSStatus = -25304

/// A class that does not exist.
public let errSecNoSuchClass: OSStatus = -25306

/// There is no default keychain. No call returns it.
public let errSecNoDefaultKeychain: OSStatus = -25307

/// The item is locked, or requires the person, who was not asked or did not answer. <doc:ErrorCodes> says how to tell these apart.
public let errSecInteractionNotAllowed: OSStatus = -25308

/// The person would have to be asked. No call returns it.
public let errSecInteractionRequired: OSStatus = -25315

/// The item's secret cannot be had. No call returns it.
public let errSecDataNotAvailable: OSStatus = -25316

/// The item is damaged.
public let errSecDecode: OSStatus = -26275

/// The program did not declare the access group, or its file of entitlements names none.
public let errSecMissingEntitlement: OSStatus = -34018
