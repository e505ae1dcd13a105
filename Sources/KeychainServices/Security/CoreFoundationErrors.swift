public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The code of an error.
public func CFErrorGetCode(_ error: CFError) -> CFIndex { error.code }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of an error.
public func CFErrorGetDomain(_ error: CFError) -> CFString { error.domain as NSString }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The information that an error has beside its code.
public func CFErrorCopyUserInfo(_ error: CFError) -> CFDictionary? { error.userInfo as NSDictionary }
