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

/// The vault could not be read or written.
public let errSecIO: OSStatus = -36

/// A key or value that does not belong there, or two that contradict each other.
public let errSecParam: OSStatus = -50

/// The vault's files cannot be written.
public let errSecWrPerm: OSStatus = -61

/// Out of memory.
public let errSecAllocate: OSStatus = -108

/// The person dismissed the prompt.
public let errSecUserCanceled: OSStatus = -128

/// A request that makes no sense in this state.
public let errSecBadReq: OSStatus = -909

/// A fault inside the library.
public let errSecInternalComponent: OSStatus = -2070

/// An update to an access group to which the program does not belong.
public let errSecNoAccessForItem: OSStatus = -25243

/// There is no vault: the service does not run.
public let errSecNotAvailable: OSStatus = -25291

/// The vault takes no changes.
public let errSecReadOnly: OSStatus = -25292

/// A wrong password, or authentication failed.
public let errSecAuthFailed: OSStatus = -25293

/// There is no such keychain.
public let errSecNoSuchKeychain: OSStatus = -25294

/// An item with the same primary attributes is there already.
public let errSecDuplicateItem: OSStatus = -25299

/// No item matches.
public let errSecItemNotFound: OSStatus = -25300

/// The secret is larger than the vault takes.
public let errSecDataTooLarge: OSStatus = -25302

/// An attribute that items of this class do not have.
public let errSecNoSuchAttr: OSStatus = -25303

/// The item is gone.
public let errSecInvalidItemRef: OSStatus = -25304

/// A class that does not exist.
public let errSecNoSuchClass: OSStatus = -25306

/// There is no default keychain.
public let errSecNoDefaultKeychain: OSStatus = -25307

/// The item is locked, or the person would have to be asked and may not be.
public let errSecInteractionNotAllowed: OSStatus = -25308

/// The person would have to be asked.
public let errSecInteractionRequired: OSStatus = -25315

/// The item's secret cannot be had.
public let errSecDataNotAvailable: OSStatus = -25316

/// The item is damaged.
public let errSecDecode: OSStatus = -26275

/// The program does not belong to the access group.
public let errSecMissingEntitlement: OSStatus = -34018
