/// A string literal as a C string: constant bytes in the object, with a zero byte after them.
///
/// The initializer is inlined where the literal is written, because only there the compiler knows the literal's kind. One kind of
/// `StaticString` has no pointer. Code that asks for its bytes later would have a trap for this kind.
struct Literal: ExpressibleByStringLiteral {
  private let start: UnsafePointer<UInt8>
  /// The number of bytes, without the zero byte.
  let count: Int

  @inline(__always)
  init(stringLiteral: StaticString) {
    start = stringLiteral.utf8Start
    count = stringLiteral.utf8CodeUnitCount
  }

  var cString: UnsafePointer<CChar> { UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self) }
}
