import LatchkeySodium

/// The sessions of ssh that a connection to the agent was bound to, one for each host on the way.
public struct SessionBindings: Sendable {
  /// One of them.
  public struct Binding: Sendable {
    /// The host's key, which signed the session's identifier.
    public let hostKey: PublicKey
    let session: [UInt8]
    /// Whether the connection is forwarded from that host.
    public let isForwarding: Bool
  }

  /// More hosts on the way than this are refused.
  private static let limit = 16

  /// The bindings in the order of the hosts on the way.
  public private(set) var bindings: [Binding] = []
  /// Whether a binding was tried and refused. Such a connection is not a local one.
  private var wasRefused = false

  /// No sessions.
  public init() {}

  /// Whether nothing is known of the connection.
  public var isUnbound: Bool { bindings.isEmpty }
  /// Whether it comes from another host.
  public var isForwarded: Bool { wasRefused || bindings.contains(where: \.isForwarding) }

  /// The first host on the way, from which the connection is forwarded; nil for a connection that is not, or that tried a wrong
  /// binding. All that comes from later hosts comes by this one.
  public var forwardingHost: PublicKey? {
    guard !wasRefused, let first = bindings.first, first.isForwarding else { return nil }
    return first.hostKey
  }

  /// Binds to one more session, by the fields of `session-bind@openssh.com`.
  ///
  /// - Returns: whether they are right.
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
      // A repeated binding changes nothing. If it names another key, it is a lie.
      if known.session == new.session { return known.hostKey == new.hostKey }
    }
    return true
  }

  /// Whether a key may be used on this way.
  ///
  /// - Parameter user: the user who logs in at the last host; nil for a list of keys.
  public func permit(_ constraints: [DestinationConstraint], user: String?) -> Bool {
    guard !constraints.isEmpty else { return true }
    guard !bindings.isEmpty else { return !wasRefused }
    var origin: PublicKey?
    for (index, binding) in bindings.enumerated() {
      let isLast = index == bindings.count - 1
      // No host on the way signs, and the way goes on only from a host to which the connection is forwarded.
      guard isLast ? !(binding.isForwarding && user != nil) : binding.isForwarding else { return false }
      let allows = constraints.contains {
        $0.allows(from: origin, to: binding.hostKey, user: isLast ? user : nil)
      }
      guard allows else { return false }
      origin = binding.hostKey
    }
    // A key that leads to that host and no further is nothing that the host need know of.
    guard let last = bindings.last, last.isForwarding, user == nil else { return true }
    return constraints.contains { $0.allows(from: last.hostKey, to: nil, user: nil) }
  }

  /// Whether a constrained key may make a signature: for a login alone, in the session that the connection was bound to last.
  public func permit(_ constraints: [DestinationConstraint], _ subject: SigningSubject) -> Bool {
    guard !constraints.isEmpty else { return true }
    guard case .login(let login) = subject, binding(of: login) != nil else { return false }
    return permit(constraints, user: login.user)
  }

  /// The host that a login is for, if it proved its key in the login's session. A connection that is forwarded from a host does
  /// not say where it leads. Behind another host, only a login that names the key counts.
  public func host(of login: SigningSubject.Login) -> PublicKey? {
    guard let last = binding(of: login), !last.isForwarding else { return nil }
    return last.hostKey
  }

  /// The last binding, if the login is in its session. From the second host on, the login must name the host's key, as OpenSSH
  /// demands.
  private func binding(of login: SigningSubject.Login) -> Binding? {
    guard let last = bindings.last, login.session == last.session,
      login.hostKey == last.hostKey.blob || login.hostKey == nil && bindings.count == 1
    else { return nil }
    return last
  }
}
