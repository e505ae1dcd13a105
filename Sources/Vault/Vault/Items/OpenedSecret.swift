import LatchkeySodium

/// A secret that was read; erased when the last reference ends.
public final class OpenedSecret {
  /// The secret itself.
  public let secret: SecureBytes
  /// Its content type, as "text/plain".
  public let contentType: String

  init(_ secret: consuming SecureBytes, contentType: String) {
    self.secret = secret
    self.contentType = contentType
  }
}
