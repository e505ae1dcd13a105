import LatchkeySodium

/// The ssh sessions to which a connection to the agent was bound, one for each host on the way.
public struct SessionBindings: Sendable {
  /// One binding.
  public struct Binding: Sendable {
    /// The host's key, which signed the session's identifier.
    public let hostKey: PublicKey
    let session: [UInt8]
    /// Whether the connection is forwarded from that host.
    public let isForwarding: Bool
  }

  /// A connection with more hosts on its way is refused.
  private static let limit = 16

  /// The bindings in the order of the hosts on the way.
  public private(set) var bindings: [Binding] = []
  /// Whether a binding was refused. Such a connection does not count as local.
  private var wasRefused = false

  /// No sessions.
  public init() {}

  /// Whether the connection has no binding, so that its origin is unknown.
  public var isUnbound: Bool { bindings.isEmpty }
  /// Whether the connection comes from another host.
  public var isForwarded: Bool { wasRefused || bindings.contains(where: \.isForwarding) }

  /// The first host on the way, which forwards the connection. Nil if the connection is not forwarded, or if it tried a wrong
  /// binding. Requests from later hosts come through this host.
  public var forwardingHost: PublicKey? {
    guard !wasRefused, let first = bindings.first, first.isForwarding else { return nil }
    return first.hostKey
  }

  /// Reads the fields of `session-bind@openssh.com`, and binds the connection to one more session.
  ///
  /// - Returns: whether the binding is valid.
  public mutating func bind(_ bytes: RawSpan, _ reader: inout SSHReader) -> Bool {
    guard let binding = try? Self.read(bytes, &reader), accepts(binding) else {
      wasRefused = true
      return false
    }
    if !bindings.contains(where: { $0.session == binding.session }) { bindings.append(binding) }
    return true
  }

  private static func read(_ bytes: RawSpan, _ reader: inout SSHReader) throws(SSHReader.Malformed) -> Binding {
    let key = try PublicKey(blob: try reader.octets(bytes))
    let session = try reader.octets(bytes)
    let signature = try reader.octets(bytes)
    let isForwarding = try reader.byte(bytes) != 0
    guard reader.isAtEnd, !session.isEmpty, session.count <= 128, key.isSignature(signature, of: session.span.bytes)
    else {
      throw SSHReader.Malformed()
    }
    return Binding(hostKey: key, session: session, isForwarding: isForwarding)
  }

  private func accepts(_ new: Binding) -> Bool {
    guard bindings.count < Self.limit else { return false }
    for known in bindings {
      guard known.isForwarding else { return false }
      // A repeated binding changes nothing. If it names another key for the same session, it is false.
      if known.session == new.session { return known.hostKey == new.hostKey }
    }
    return true
  }

  /// Whether a key may be used by this connection, according to its constraints.
  ///
  /// - Parameter user: the user who logs in at the last host; nil for a list of keys.
  public func permit(_ constraints: [DestinationConstraint], user: String?) -> Bool {
    guard !constraints.isEmpty else { return true }
    guard !bindings.isEmpty else { return !wasRefused }
    var origin: PublicKey?
    for (index, binding) in bindings.enumerated() {
      let isLast = index == bindings.count - 1
      // A host on the way may not sign. Only a host that forwards the connection may be followed by another host.
      guard isLast ? !(binding.isForwarding && user != nil) : binding.isForwarding else { return false }
      let allows = constraints.contains {
        $0.allows(from: origin, to: binding.hostKey, user: isLast ? user : nil)
      }
      guard allows else { return false }
      origin = binding.hostKey
    }
    // If a key leads only to this host and no further, the host need not see the key.
    guard let last = bindings.last, last.isForwarding, user == nil else { return true }
    return constraints.contains { $0.allows(from: last.hostKey, to: nil, user: nil) }
  }

  /// Whether a constrained key may make a signature: only for a login, and only in the session of the last binding.
  public func permit(_ constraints: [DestinationConstraint], _ subject: SigningSubject) -> Bool {
    guard !constraints.isEmpty else { return true }
    guard case .login(let login) = subject, binding(of: login) != nil else { return false }
    return permit(constraints, user: login.user)
  }

  /// The host at which a login happens, if the host has proved its key in the login's session. Nil if the connection is forwarded
  /// from the last known host, because its destination is then unknown. From the second host on, the login must name the host's
  /// key.
  public func host(of login: SigningSubject.Login) -> PublicKey? {
    guard let last = binding(of: login), !last.isForwarding else { return nil }
    return last.hostKey
  }

  /// The last binding, if the login is in its session. From the second host on, the login must name the host's key, as OpenSSH
  /// requires.
  private func binding(of login: SigningSubject.Login) -> Binding? {
    guard let last = bindings.last, login.session == last.session,
      login.hostKey == last.hostKey.blob || login.hostKey == nil && bindings.count == 1
    else { return nil }
    return last
  }
}
