import CLatchkeySodium

/// XChaCha20-Poly1305 over a sequence of chunks (`crypto_secretstream_xchacha20poly1305`): no chunk can be altered, left out,
/// doubled or moved, and the last chunk says that it is the last.
public enum SecretStream {
  /// The size of a stream's own header, in bytes. It is not secret.
  public static let headerSize = 24
  /// The bytes by which a chunk is longer than its plaintext.
  public static let overhead = 17

  /// Seals one chunk after the other.
  public struct Sealer: ~Copyable {
    private var state: SecureBytes
    /// The header, which the reader of the stream needs beside the key.
    public let header: [UInt8]

    /// Begins a stream under `key`.
    public init(key: borrowing Key) throws(SodiumError) {
      let memory = try SecureBytes(count: crypto_secretstream_xchacha20poly1305_statebytes())
      var header = [UInt8](repeating: 0, count: headerSize)
      key.bytes.withOctets { bytes, _ in
        _ = crypto_secretstream_xchacha20poly1305_init_push(memory.streamState, &header, bytes)
      }
      state = memory
      self.header = header
    }

    /// The next chunk: the first `count` bytes of `plaintext`, bound to `associated`.
    public mutating func seal(
      _ plaintext: borrowing SecureBytes, count: Int, associated: [UInt8], isLast: Bool
    ) -> [UInt8] {
      precondition((0...plaintext.count).contains(count))
      var out = [UInt8](repeating: 0, count: count + overhead)
      let tag = isLast ? SecretStream.lastTag : SecretStream.messageTag
      let state = state.streamState
      plaintext.bytes.withOctets { input, _ in
        _ = crypto_secretstream_xchacha20poly1305_push(
          state, &out, nil, input, UInt64(count), associated, UInt64(associated.count), tag)
      }
      return out
    }
  }

  /// Opens the chunks of a stream in their order.
  public struct Opener: ~Copyable {
    private var state: SecureBytes
    /// Whether the last chunk was opened.
    public private(set) var isOver = false

    /// Begins to open the stream that has `header`.
    ///
    /// - Throws: ``SodiumError/badArgument`` for a header of another size.
    public init(key: borrowing Key, header: [UInt8]) throws(SodiumError) {
      guard header.count == headerSize else { throw .badArgument }
      let memory = try SecureBytes(count: crypto_secretstream_xchacha20poly1305_statebytes())
      let status = key.bytes.withOctets { bytes, _ in
        crypto_secretstream_xchacha20poly1305_init_pull(memory.streamState, header, bytes)
      }
      guard status == 0 else { throw .badArgument }
      state = memory
    }

    /// Opens the next chunk into the caller's memory, which must have room for its plaintext.
    ///
    /// - Returns: the number of bytes in the plaintext.
    /// - Throws: ``SodiumError/decryptionFailed`` for anything but this very chunk of this very stream.
    public mutating func open(
      _ chunk: RawSpan, associated: [UInt8], into plaintext: inout SecureBytes
    ) throws(SodiumError) -> Int {
      let count = chunk.byteCount - overhead
      guard count >= 0, count <= plaintext.count, !isOver else { throw .decryptionFailed }
      var tag: UInt8 = 0
      let state = state.streamState
      let status = plaintext.withMutableOctets { out, _ in
        chunk.withOctets { input, size in
          crypto_secretstream_xchacha20poly1305_pull(
            state, out, nil, &tag, input, UInt64(size), associated, UInt64(associated.count))
        }
      }
      guard status == 0, tag == SecretStream.messageTag || tag == SecretStream.lastTag else {
        throw .decryptionFailed
      }
      isOver = tag == SecretStream.lastTag
      return count
    }
  }

  private static let messageTag = crypto_secretstream_xchacha20poly1305_tag_message()
  private static let lastTag = crypto_secretstream_xchacha20poly1305_tag_final()
}

extension SecureBytes {
  /// libsodium's state of a stream, in memory of that size.
  fileprivate var streamState: UnsafeMutablePointer<crypto_secretstream_xchacha20poly1305_state> {
    start.assumingMemoryBound(to: crypto_secretstream_xchacha20poly1305_state.self)
  }
}
