import Foundation
import Testing

@testable import LatchkeySecurity

/// Apple's values, repeated here. With a wrong value, a query would find no item of a program that uses Apple's value.
@Suite("Constants")
struct ConstantsTests {
  @Test("Every string constant has Apple's value") func strings() {
    let table: [(constant: CFString, value: String)] = [
      (kSecClass, "class"),
      (kSecClassCertificate, "cert"),
      (kSecClassGenericPassword, "genp"),
      (kSecClassIdentity, "idnt"),
      (kSecClassInternetPassword, "inet"),
      (kSecClassKey, "keys"),
      (kSecAttrAccessControl, "accc"),
      (kSecAttrAccessGroup, "agrp"),
      (kSecAttrAccount, "acct"),
      (kSecAttrComment, "icmt"),
      (kSecAttrCreationDate, "cdat"),
      (kSecAttrCreator, "crtr"),
      (kSecAttrDescription, "desc"),
      (kSecAttrGeneric, "gena"),
      (kSecAttrIsInvisible, "invi"),
      (kSecAttrIsNegative, "nega"),
      (kSecAttrLabel, "labl"),
      (kSecAttrModificationDate, "mdat"),
      (kSecAttrPath, "path"),
      (kSecAttrPort, "port"),
      (kSecAttrSecurityDomain, "sdmn"),
      (kSecAttrServer, "srvr"),
      (kSecAttrService, "svce"),
      (kSecAttrSynchronizable, "sync"),
      (kSecAttrSynchronizableAny, "syna"),
      (kSecAttrType, "type"),
      (kSecAttrAccessible, "pdmn"),
      (kSecAttrAccessibleAfterFirstUnlock, "ck"),
      (kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, "cku"),
      (kSecAttrAccessibleAlways, "dk"),
      (kSecAttrAccessibleAlwaysThisDeviceOnly, "dku"),
      (kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, "akpu"),
      (kSecAttrAccessibleWhenUnlocked, "ak"),
      (kSecAttrAccessibleWhenUnlockedThisDeviceOnly, "aku"),
      (kSecReturnAttributes, "r_Attributes"),
      (kSecReturnData, "r_Data"),
      (kSecReturnPersistentRef, "r_PersistentRef"),
      (kSecReturnRef, "r_Ref"),
      (kSecValueData, "v_Data"),
      (kSecValuePersistentRef, "v_PersistentRef"),
      (kSecValueRef, "v_Ref"),
      (kSecMatchItemList, "m_ItemList"),
      (kSecAttrKeyType, "type"),
      (kSecAttrKeyTypeRSA, "42"),
      (kSecAttrKeyTypeECSECPrimeRandom, "73"),
      (kSecAttrKeySizeInBits, "bsiz"),
      (kSecAttrApplicationTag, "atag"),
      (kSecAttrIsPermanent, "perm"),
      (kSecPrivateKeyAttrs, "private"),
      (kSecAttrIssuer, "issr"),
      (kSecAttrSerialNumber, "slnr"),
      (kSecAttrPublicKeyHash, "pkhh"),
      (kSecMatchLimit, "m_Limit"),
      (kSecMatchLimitAll, "m_LimitAll"),
      (kSecMatchLimitOne, "m_LimitOne"),
      (kSecUseAuthenticationContext, "u_AuthCtx"),
      (kSecUseAuthenticationUI, "u_AuthUI"),
      (kSecUseAuthenticationUIAllow, "u_AuthUIA"),
      (kSecUseAuthenticationUIFail, "u_AuthUIF"),
      (kSecUseAuthenticationUISkip, "u_AuthUIS"),
      (kSecUseDataProtectionKeychain, "nleg"),
      (kSecUseNoAuthenticationUI, "u_NoAuthUI"),
      (kSecUseOperationPrompt, "u_OpPrompt"),
      (kSecUseItemList, "u_ItemList"),
      (kSecAttrProtocol, "ptcl"),
      (kSecAttrProtocolAFP, "afp "),
      (kSecAttrProtocolAppleTalk, "atlk"),
      (kSecAttrProtocolDAAP, "daap"),
      (kSecAttrProtocolEPPC, "eppc"),
      (kSecAttrProtocolFTP, "ftp "),
      (kSecAttrProtocolFTPAccount, "ftpa"),
      (kSecAttrProtocolFTPProxy, "ftpx"),
      (kSecAttrProtocolFTPS, "ftps"),
      (kSecAttrProtocolHTTP, "http"),
      (kSecAttrProtocolHTTPProxy, "htpx"),
      (kSecAttrProtocolHTTPS, "htps"),
      (kSecAttrProtocolHTTPSProxy, "htsx"),
      (kSecAttrProtocolIMAP, "imap"),
      (kSecAttrProtocolIMAPS, "imps"),
      (kSecAttrProtocolIPP, "ipp "),
      (kSecAttrProtocolIRC, "irc "),
      (kSecAttrProtocolIRCS, "ircs"),
      (kSecAttrProtocolLDAP, "ldap"),
      (kSecAttrProtocolLDAPS, "ldps"),
      (kSecAttrProtocolNNTP, "nntp"),
      (kSecAttrProtocolNNTPS, "ntps"),
      (kSecAttrProtocolPOP3, "pop3"),
      (kSecAttrProtocolPOP3S, "pops"),
      (kSecAttrProtocolRTSP, "rtsp"),
      (kSecAttrProtocolRTSPProxy, "rtsx"),
      (kSecAttrProtocolSMB, "smb "),
      (kSecAttrProtocolSMTP, "smtp"),
      (kSecAttrProtocolSOCKS, "sox "),
      (kSecAttrProtocolSSH, "ssh "),
      (kSecAttrProtocolTelnet, "teln"),
      (kSecAttrProtocolTelnetS, "tels"),
      (kSecAttrAuthenticationType, "atyp"),
      (kSecAttrAuthenticationTypeDPA, "dpaa"),
      (kSecAttrAuthenticationTypeDefault, "dflt"),
      (kSecAttrAuthenticationTypeHTMLForm, "form"),
      (kSecAttrAuthenticationTypeHTTPBasic, "http"),
      (kSecAttrAuthenticationTypeHTTPDigest, "httd"),
      (kSecAttrAuthenticationTypeMSN, "msna"),
      (kSecAttrAuthenticationTypeNTLM, "ntlm"),
      (kSecAttrAuthenticationTypeRPA, "rpaa"),
    ]
    #expect(table.count == 105)
    for (index, (constant, value)) in table.enumerated() {
      #expect(constant as String == value, "row \(index)")
    }
    #expect(kCFBundleIdentifierKey as String == "CFBundleIdentifier")
  }

  @Test("Every code has Apple's number and sentence") func codes() {
    let table: [(code: OSStatus, number: Int32, sentence: String)] = [
      (errSecSuccess, 0, "No error."),
      (errSecUnimplemented, -4, "Function or operation not implemented."),
      (errSecDiskFull, -34, "The disk is full."),
      (errSecIO, -36, "I/O error."),
      (errSecParam, -50, "One or more parameters passed to a function were not valid."),
      (errSecWrPerm, -61, "Write permissions error."),
      (errSecAllocate, -108, "Failed to allocate memory."),
      (errSecUserCanceled, -128, "User canceled the operation."),
      (errSecBadReq, -909, "Bad parameter or invalid state for operation."),
      (errSecInternalComponent, -2070, "errSecInternalComponent"),
      (errSecMissingEntitlement, -34018, "A required entitlement isn't present."),
      (errSecNotAvailable, -25291, "No keychain is available. You may need to restart your computer."),
      (errSecReadOnly, -25292, "This keychain cannot be modified."),
      (errSecAuthFailed, -25293, "The user name or passphrase you entered is not correct."),
      (errSecNoSuchKeychain, -25294, "The specified keychain could not be found."),
      (errSecDuplicateItem, -25299, "The specified item already exists in the keychain."),
      (errSecItemNotFound, -25300, "The specified item could not be found in the keychain."),
      (
        errSecDataTooLarge, -25302,
        "This item contains information which is too large or in a format that cannot be displayed."
      ),
      (errSecNoSuchAttr, -25303, "The specified attribute does not exist."),
      (
        errSecInvalidItemRef, -25304,
        "The specified item is no longer valid. It may have been deleted from the keychain."
      ),
      (errSecNoSuchClass, -25306, "The specified item does not appear to be a valid keychain item."),
      (errSecNoDefaultKeychain, -25307, "A default keychain could not be found."),
      (errSecInteractionNotAllowed, -25308, "User interaction is not allowed."),
      (errSecInteractionRequired, -25315, "User interaction is required, but is currently not allowed."),
      (errSecDataNotAvailable, -25316, "The contents of this item cannot be retrieved."),
      (errSecDecode, -26275, "Unable to decode the provided data."),
      (errSecNoAccessForItem, -25243, "The specified item has no access control."),
      (errSecOpWr, -49, "File already open with write permission."),
      (errSecCoreFoundationUnknown, -4960, "errSecCoreFoundationUnknown"),
      (errSecACLNotSimple, -25240, "The specified access control list is not in standard (simple) form."),
      (errSecPolicyNotFound, -25241, "The specified policy cannot be found."),
      (errSecInvalidTrustSetting, -25242, "The specified trust setting is invalid."),
      (errSecInvalidOwnerEdit, -25244, "Invalid attempt to change the owner of this item."),
      (errSecTrustNotAvailable, -25245, "No trust results are available."),
      (errSecUnsupportedFormat, -25256, "Import/Export format unsupported."),
      (errSecUnknownFormat, -25257, "Unknown format in import."),
      (errSecKeyIsSensitive, -25258, "Key material must be wrapped for export."),
      (errSecMultiplePrivKeys, -25259, "An attempt was made to import multiple private keys."),
      (errSecPassphraseRequired, -25260, "Passphrase is required for import/export."),
      (errSecInvalidPasswordRef, -25261, "The password reference was invalid."),
      (errSecInvalidTrustSettings, -25262, "The Trust Settings Record was corrupted."),
      (errSecNoTrustSettings, -25263, "No Trust Settings were found."),
      (errSecPkcs12VerifyFailure, -25264, "MAC verification failed during PKCS12 import (wrong password?)"),
      (errSecInvalidKeychain, -25295, "The specified keychain is not a valid keychain file."),
      (errSecDuplicateKeychain, -25296, "A keychain with the same name already exists."),
      (errSecDuplicateCallback, -25297, "The specified callback function is already installed."),
      (errSecInvalidCallback, -25298, "The specified callback function is not valid."),
      (errSecBufferTooSmall, -25301, "There is not enough memory available to use the specified item."),
      (errSecInvalidSearchRef, -25305, "Unable to search the current keychain."),
      (errSecReadOnlyAttr, -25309, "The specified attribute could not be modified."),
      (
        errSecWrongSecVersion, -25310,
        "This keychain was created by a different version of the system software and cannot be opened."
      ),
      (errSecKeySizeNotAllowed, -25311, "This item specifies a key size which is too large or too small."),
      (
        errSecNoStorageModule, -25312,
        "A required component (data storage module) could not be loaded. You may need to restart your computer."
      ),
      (
        errSecNoCertificateModule, -25313,
        "A required component (certificate module) could not be loaded. You may need to restart your computer."
      ),
      (
        errSecNoPolicyModule, -25314,
        "A required component (policy module) could not be loaded. You may need to restart your computer."
      ),
      (errSecDataNotModifiable, -25317, "The contents of this item cannot be modified."),
      (
        errSecCreateChainFailed, -25318,
        "One or more certificates required to validate this certificate cannot be found."
      ),
      (errSecInvalidPrefsDomain, -25319, "The specified preferences domain is not valid."),
      (errSecInDarkWake, -25320, "In dark wake, no UI possible"),
      (errSecNotSigner, -26267, "A certificate was not signed by its proposed parent."),
      (errSecServiceNotAvailable, -67585, "The required service is not available."),
    ]
    #expect(table.count == 61)
    // The failure of another test on this thread would add a cause to the sentence.
    LastFailure.ofThread = nil
    for (code, number, sentence) in table {
      #expect(code == number)
      #expect(SecCopyErrorMessageString(code, nil) as String? == sentence, "\(number)")
    }
    #expect(noErr == 0)
    #expect(SecCopyErrorMessageString(4711, nil) as String? == "OSStatus 4711")
  }

  @Test("Every flag has Apple's bit") func flags() {
    let table: [(flag: SecAccessControlCreateFlags, bit: Int)] = [
      (.userPresence, 0), (.biometryAny, 1), (.touchIDAny, 1), (.biometryCurrentSet, 3), (.touchIDCurrentSet, 3),
      (.devicePasscode, 4), (.watch, 5), (.companion, 5), (.or, 14), (.and, 15), (.privateKeyUsage, 30),
      (.applicationPassword, 31),
    ]
    for (flag, bit) in table { #expect(flag.rawValue == 1 << UInt(bit)) }
  }

  @Test("Core Foundation's objects behave as programs expect") func objects() {
    #expect(kCFBooleanTrue == true as NSNumber)
    #expect((kCFBooleanTrue as CFTypeRef) as? Bool == true)
    #expect((kCFBooleanFalse as CFTypeRef) as? Int == 0)
    #expect(kCFAllocatorDefault == nil)
    #expect(kSecRandomDefault == nil)
  }
}
