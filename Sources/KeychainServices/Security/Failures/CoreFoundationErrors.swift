public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The code of an error.
///
/// - Parameter error: Any error.
/// - Returns: The number, such as `errSecParam`.
public func CFErrorGetCode(_ error: CFError) -> CFIndex { error.code }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of an error.
///
/// - Parameter error: Any error.
/// - Returns: `NSOSStatusErrorDomain` for an error of this library.
public func CFErrorGetDomain(_ error: CFError) -> CFString { error.domain as NSString }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The further information of an error.
///
/// - Parameter error: Any error.
/// - Returns: Its `userInfo`, with the sentence under `NSLocalizedDescriptionKey`.
public func CFErrorCopyUserInfo(_ error: CFError) -> CFDictionary? { error.userInfo as NSDictionary }
