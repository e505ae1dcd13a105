/// A string literal as C sees it: constant bytes of the object itself, with a zero byte after them.
///
/// It is made at the literal's own place in the code, because the compiler knows the literal's kind there. Asking a
/// `StaticString` for its bytes later would leave a trap in the object, for the one kind of literal that has no pointer.
struct Literal: ExpressibleByStringLiteral {
  private let start: UnsafePointer<UInt8>
  /// Bytes, without the zero byte.
  let count: Int

  @inline(__always)
  init(stringLiteral: StaticString) {
    start = stringLiteral.utf8Start
    count = stringLiteral.utf8CodeUnitCount
  }

  var cString: UnsafePointer<CChar> { UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self) }
}
