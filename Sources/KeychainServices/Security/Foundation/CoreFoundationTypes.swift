public import Foundation

// The names of Core Foundation, for Foundation's classes. Aliases, as the compiler bridges Swift values to these classes and
// to no others: `query as CFDictionary` and `result as? Data` are possible for nothing else on Linux.

/// A string object.
public typealias CFString = NSString
/// A dictionary object: what the `SecItem` functions take.
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
/// Any object: what the `SecItem` functions return.
public typealias CFTypeRef = AnyObject
/// A position or a count.
public typealias CFIndex = Int
/// A set of option bits.
public typealias CFOptionFlags = UInt
/// The number of a class of objects.
public typealias CFTypeID = UInt

/// Says where memory comes from. On Linux there is no choice: pass nil or ``kCFAllocatorDefault``.
public final class CFAllocator: NSObject, Sendable {
  override private init() {}
}

// Implicitly unwrapped, as on Apple's systems: programs write `kCFBooleanTrue!` as well as `kCFBooleanTrue as Any`.

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
