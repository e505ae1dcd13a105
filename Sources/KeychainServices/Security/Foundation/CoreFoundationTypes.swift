public import Foundation

// Core Foundation's names for Foundation's classes. They are aliases, because on Linux the compiler bridges Swift values only to
// Foundation's classes, as in `query as CFDictionary` and `result as? Data`.

/// A string object.
public typealias CFString = NSString
/// A dictionary object, which the `SecItem` functions take.
public typealias CFDictionary = NSDictionary
/// An array object.
public typealias CFArray = NSArray
/// A data object.
public typealias CFData = NSData
/// A date object.
public typealias CFDate = NSDate
/// A number object.
public typealias CFNumber = NSNumber
/// A number object that says yes or no.
public typealias CFBoolean = NSNumber
/// An error object.
public typealias CFError = NSError
/// Any object, such as a result of the `SecItem` functions.
public typealias CFTypeRef = AnyObject
/// A position or a count.
public typealias CFIndex = Int
/// A set of option bits.
public typealias CFOptionFlags = UInt
/// The number of a class of objects.
public typealias CFTypeID = UInt

/// The source of memory. On Linux there is no choice: pass nil or ``kCFAllocatorDefault``.
public final class CFAllocator: NSObject, Sendable {
  override private init() {}
}

// These constants are implicitly unwrapped, as on Apple's systems, because programs write both `kCFBooleanTrue!` and
// `kCFBooleanTrue as Any`.

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// True, as an object.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// False, as an object.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The only allocator: nil.
public let kCFAllocatorDefault: CFAllocator! = nil

/// The key of a program's identifier in its `Info.plist`.
public nonisolated(unsafe) let kCFBundleIdentifierKey: CFString = "CFBundleIdentifier"
