import CLatchkeyHelper
import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyLogControl
import LatchkeySodium

@testable import LatchkeyBackup
@testable import LatchkeyControl
@testable import LatchkeyDeviceService
@testable import LatchkeyKeybag
@testable import LatchkeySSHProtocol
@testable import LatchkeyVault

/// The first inputs of the fuzzer: real files and packets, made again for each run.
extension Target {
  private static let event = AccessEvent(.open, .ended(.granted), collection: 1, item: 5, label: "Bank", caller: "mail")

  private static var page: AccessLogPage {
    AccessLogPage(
      lines: [
        .init(number: 9, created: 1_700_000_000, event: event, missing: 2),
        .init(number: 6, created: 0, event: nil, missing: 0),
      ], hasMore: true)
  }

  /// Inputs that pass many checks of the target.
  func seeds() throws -> [[UInt8]] {
    let texts: [String]
    switch self {
    case .keybag:
      let password = Home.password
      let cost = PasswordCost(passes: 3, memory: 32 << 20)
      let keybag = try Keybag.create(password: password.span.bytes, cost: cost).keybag.encoded
      let opened = try Keybag.create(password: password.span.bytes, cost: cost)
      let recoverable = try opened.settingRecoveryCode(try .random()).encoded
      let rotated = try opened.rotated(password: password.span.bytes, cost: cost).keybag.encoded
      let vault = Sodium.randomBytes(16)
      let passwordless = try Keybag.create(vault: vault, device: try Target.deviceSecret())
      let both = try passwordless.settingRecoveryCode(try .random()).encoded
      let session = try opened.settingSession(try Target.deviceSecret()).encoded
      let all = [keybag, recoverable, rotated, passwordless.keybag.encoded, both, session]
      return all.flatMap { [$0, [1] + $0.dropLast(32)] }
    case .recoveryCode:
      // Codes from FORMAT.md's vectors. The codes open no real vault, so the source may contain them.
      texts = ["84NXV-QB7YB-N0FH6-8AFG3-BG3VD-3Z65W-EJV3A", "84nxv qb7yb n0fh6 8afg3 bg3vd 3z65w ejv3a"]
    case .foreignFile:
      let textual =
        "[keyring]\ndisplay-name=A\n\n[5]\nitem-type=0\ndisplay-name=B\\n\nsecret=s\ns\nmtime=1\nctime=1\n\n"
        + "[5:attribute0]\nname=n\ntype=string\nvalue=v\n\n[6]\nbinary-secret=00ff\n"
      let item: [UInt8] =
        [0, 0, 0, 1, 0x61, 0, 0, 0, 2, 1, 2] + [UInt8](repeating: 0, count: 16) + [255, 255, 255, 255]
        + [UInt8](repeating: 0, count: 16) + [0, 0, 0, 1, 0, 0, 0, 1, 0x6e, 0, 0, 0, 0, 0, 0, 0, 1, 0x76, 0, 0, 0, 0]
      func text(_ letter: String) -> [UInt8] { [0, 0, 0, 2, 0] + Array(letter.utf8) }
      let database =
        "<?xml version=\"1.0\"?><KeePassFile><Meta><RecycleBinUUID>AA==</RecycleBinUUID><Binaries>"
        + "<Binary ID=\"0\" Compressed=\"True\">AQI=</Binary></Binaries></Meta><Root><Group><UUID>AQ==</UUID><Name>a</Name><Entry>"
        + "<String><Key>Title</Key><Value>t&amp;&#x41;</Value></String><String><Key>Password</Key><Value>p</Value></String>"
        + "<Binary><Key>f</Key><Value Ref=\"0\"/></Binary><History><Entry/></History></Entry></Group></Root></KeePassFile>"
      let table = "name,url,username,password,note\nA,https://a.org,me,\"p\"\"q\",\"two\nlines\"\n"
      let export =
        "{\"format\":\"latchkey-export\",\"version\":1,\"default\":\"login\",\"x\":[true,1e5,{}],\"collections\":[{\"name\":\"login\","
        + "\"label\":\"L\",\"items\":[{\"label\":\"a\",\"attributes\":{\"n\":\"v\"},\"created\":1,\"class\":\"always\","
        + "\"secret\":\"\\u00e4\\ud83d\\udd11\\n\"},{\"label\":\"b\",\"attributes\":{},\"secret_base64\":\"AP8=\"}]}]}"
      let header = Array("GnomeKeyring\n\r\0\n".utf8) + [UInt8](repeating: 0, count: 36) + [4, 0]
      return [
        [0] + Array(textual.utf8), [0] + header + [UInt8](repeating: 0, count: 64),
        [1] + [UInt8](repeating: 0, count: 16) + item + item + item, [2] + Array(table.utf8),
        [3] + Array("KWALLET\n\r\0\r\n".utf8) + [UInt8](repeating: 0, count: 40),
        [4] + text("f") + [0, 0, 0, 3] + text("a") + [0, 0, 0, 1, 0, 0, 0, 6] + text("x") + text("b")
          + [0, 0, 0, 3, 0, 0, 0, 16, 0, 0, 0, 1] + text("k") + text("v") + text("c") + [0, 0, 0, 2, 0, 0, 0, 1, 9],
        // {"n": "v"}, "l", two times, "s".
        [5, 0x6e, 0, 0x76, 0, 2, 5, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 1, count: 16) + [0x73, 8, 6],
        [6] + Array("one\ntwo\n".utf8), [7] + Array(export.utf8),
        // A parameter "M" of 1 MiB.
        [8, 3, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5, 1, 0, 4, 0, 11, 21, 0, 0, 0, 0, 1, 5, 1, 0, 0, 0, 0x4d]
          + [8, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [9] + Array(database.utf8),
      ]
    case .deviceKey:
      let specimen = try Specimen()
      let file = specimen.home.read("device.key")
      return [file, [1] + file.dropLast(32)]
    case .deviceRequest:
      let share = try DevicePacket.wrap(try Key.random(), .bound, context: [1, 2, 3])
      let wrapped = try DevicePacket.unwrap([UInt8](repeating: 9, count: 72), .erasable, context: [1, 2, 3])
      return [
        share.bytes.withUnsafeBytes { Array($0) }, wrapped.bytes.withUnsafeBytes { Array($0) }, [1, 1], [1, 5, 2],
        [1, 4, 0, 0, 0, 0], [1, 6, 0, 0, 0, 0], [1, 8, 1, 0, 0, 0], [1, 7] + [UInt8](repeating: 3, count: 32) + [1],
        [1, 9, 1] + [UInt8](repeating: 5, count: 64), [1, 10], [1, 11, 1, 0, 0, 0], [1, 12, 1, 0, 0, 0],
        [1, 13, 1, 0, 0, 0], [1, 14, 1, 0, 0, 0],
      ]
    case .controlRequest:
      let hello = Hello(stage: .openSession, service: "login", tty: "tty1", remoteHost: "", given: 1_000_000)
      let delivery = TierDelivery(
        vault: [UInt8](repeating: 7, count: 16), generation: 1, created: true, tiers: try TierKeys.random())
      let keys = try UnlockWithTiers(delivery).packet()
      let former = [FormerTiers(number: 1, tiers: try TierKeys.random())]
      let rotation = TierDelivery(
        vault: [UInt8](repeating: 7, count: 16), generation: 2, created: false, tiers: try TierKeys.random(),
        former: former)
      let more = try Rotate(rotation).packet()
      let publicKey = SealedBox.publicKey(of: try Key.random())
      let name = Sodium.randomBytes(16)
      let present = DeviceSecretRequest(.present, publicKey: publicKey).packet
      let new = DeviceSecretRequest(.new(vault: name, protector: name), publicKey: publicKey).packet
      let number: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0]
      let session = SessionDelivery(
        vault: [UInt8](repeating: 7, count: 16), key: SessionKey(epoch: 1, key: try Key.random()))
      let key = try session.packet()
      return [
        hello.packet, keys.bytes.withUnsafeBytes { Array($0) }, more.bytes.withUnsafeBytes { Array($0) }, [2, 3],
        [2, 4],
        [2, 5] + number, [2, 6, 0],
        [2, 7] + number + number,
        [2, 8] + number + [UInt8](repeating: 3, count: 32), [2, 9, 2, 1, 0, 0x61], [2, 10, 1, 0, 0x61], [2, 22],
        [2, 23], present, new, [2, 25, 0], [2, 25, 1], [2, 26] + number, [2, 27],
        key.bytes.withUnsafeBytes { Array($0) }, [2, 28], [2, 29, 2, 0, 0x2F, 0x61], [2, 31] + publicKey,
        [2, 33],
      ]
    case .controlReply:
      var status = Status()
      status.lockReasons = [.session(.screenSaver)]
      status.problems = [.both(.of(.database, .sqlite("x")), .vault(.unlockToTryAgain))]
      status.classes = AccessibilityClass.allCases.map { .init(name: $0.name, isPresent: true) }
      status.lockSources = [.session(.logind)]
      status.hasOlderKeybag = true
      status.protectors = [.init(kind: 1, state: 1, created: 7), .init(kind: 3, state: 1, created: 8)]
      let publicKey = SealedBox.publicKey(of: try Key.random())
      let secret = try SealedDeviceSecret(try Target.deviceSecret(), to: publicKey)
      let prompt = PromptRequest(
        purpose: .item, label: "Bank", caller: "mail", window: "x11:1", terminal: "/dev/pts/1",
        access: try AccessControl(text: "user-presence,application-password"), reuse: 60, change: "to stay",
        reason: "to send", hasPassphrase: true, isAway: true)
      let aside = VaultAside(path: "/home/ann/.local/share/latchkey-aside-20261122-020000")
      return [
        GetStatus.packet(answering: status), Hello.packet(answering: .refused(.session(.notNow))),
        UnlockOutcome.unusable(.verbatim("why")).packet, UnlockOutcome.live.packet, LockVault.packet(answering: Done()),
        DeviceSecretRequest.packet(answering: secret), DestroyPasscodeItems.packet(answering: 7),
        ControlPacket.declined(.session(.notNow)), GetAccessLog.packet(answering: Target.page),
        ClearAccessLog.packet(answering: 3), NoteOtherPassword.packet(answering: Done()), [2, 33] + publicKey,
        PutVaultAside.packet(answering: aside), ShowPrompt.packet(answering: prompt),
        [2, 31] + Array("open sesame".utf8),
      ]
    case .deriveRequest:
      return [UInt8(2), 8, 10, 11, 12, 13].map { operation in
        var out = ByteWriter()
        out.put([UInt8(HELPER_VERSION), operation, 0])
        out.number(UInt64(1_000_000))
        let folders = ["/home/ann", "/run/user/1000", "/etc/shadow"]
        for text in ["ann", "login", "tty1", ""] + folders + ["", "/s", "/d", "password"] { out.text(text) }
        if [8, 11, 12].contains(operation) { out.text("another") }
        return out.bytes
      }
    case .objectPath:
      texts = ["collection/login", "collection/c2/17", "collection/session/1", "aliases/default/3", "session/s1"].map {
        "/org/freedesktop/secrets/" + $0
      }
    case .controlAttributes:
      texts =
        AccessibilityClass.allCases.map { "latchkey:accessible\0\($0.name)\0service\0mail" } + [
          "latchkey:x\0y", "latchkey:require\0user-presence,application-password\0service\0mail",
          "latchkey:require\0or",
        ]
    case .accessControl:
      let access = try ["user-presence,application-password", "biometry-any,or,device-passcode"].map {
        try AccessControl(text: $0)
      }
      return access.flatMap { flags in
        var bits = ByteWriter()
        bits.number(flags.rawValue)
        return [[0] + bits.bytes, [1] + Array(flags.text.utf8)]
      } + [[2] + ItemAccess.conditions.encoded, [2] + ItemAccess.passphrase(.make()).encoded]
    case .metadata:
      return [
        ItemMetadata(label: "Mail", attributes: ["service": "mail", "ä": ""], contentType: "text/plain", flags: 1)
          .encoded(revision: [UInt8](repeating: 1, count: 16)),
        ItemMetadata(
          label: "", attributes: [:], contentType: "", flags: 8,
          fingers: try FingerSet([("Reader", ["left-thumb"])])
        ).encoded(revision: [UInt8](repeating: 1, count: 16)),
      ]
    case .accessLogEntry:
      var out = ByteWriter()
      out.put([UInt8](repeating: 1, count: AccessLogSeal.reservedSize))
      Target.event.encode(into: &out)
      return [out.bytes + [UInt8](repeating: 0, count: 64 - out.bytes.count % 64)]
    case .unitName:
      texts = [
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.example.Mail-12.scope",
        "1:name=systemd:/user.slice/user@1000.service/snap.my\\x2dmail.daemon.service", "dbus-:1.2-org.example.Mail@0",
        "snap.firefox.geckodriver (enforce)", "[Application]\nname=org.example.Mail\n",
      ]
    case .sshMessage:
      let key = try PrivateKey.generate()
      let file = try KeyFile.encode(key, comment: "anna")
      var device = SSHWriter()
      device.text(SecurityKey.Algorithm.ed25519.rawValue)
      for field in [[UInt8](repeating: 1, count: 32), Array("ssh:".utf8)] { device.string(field) }
      let answer: [UInt8] = [0, 0, 0, 9, 5, 0, 0, 0, 1, 0, 0, 0, 0]
      return [key.fields.bytes.withUnsafeBytes { Array($0) }, key.publicKey.blob, [2, 1, 0, 0, 0, 9]]
        + [file.bytes.withUnsafeBytes { Array($0) }, device.bytes, answer]
        + [device.bytes + [1, 0, 0, 0, 1, 7, 0, 0, 0, 0]]
    case .walletValue:
      let text: [UInt8] = [0, 0, 0, 6, 0, 0x6b, 0xd8, 0x3d, 0xdd, 0x11]
      return [
        [0] + Array(#"{"k":"v\u00e4\ud83d\udd11","n":1}"#.utf8), [1] + text, [2, 0, 255],
        [3, 0, 0, 0, 2] + text + text + [0, 0, 0, 0, 255, 255, 255, 255],
      ]
    case .backup: return try backupSeeds()
    // Places all over the file, with every kind of damage.
    case .database: return (UInt8(0)..<64).map { [$0 &* 37, $0 &* 91, $0 / 22, $0, $0, 16] }
    case .hostile: return hostileSeeds()
    // Every kind of change to every column.
    case .rows:
      return (UInt8(0)..<8).flatMap { table in
        (UInt8(0)..<13).map { column in
          (UInt8(0)..<8).flatMap { kind in [table, column, kind, kind, 2, kind, 255 &- column] }
        }
      }
    }
    return texts.map { Array($0.utf8) }
  }

  /// A secret that no device key has wrapped.
  private static func deviceSecret() throws -> DeviceSecret {
    let wrapping = DeviceSecret.Wrapping(
      identity: Sodium.randomBytes(16), wrapped: Sodium.randomBytes(DeviceSecret.Wrapping.wrappedSize))
    guard let wrapping else { fatalError("the sizes of a wrapping") }
    return DeviceSecret(protector: Sodium.randomBytes(16), wrapping: wrapping, key: try .random())
  }
}
