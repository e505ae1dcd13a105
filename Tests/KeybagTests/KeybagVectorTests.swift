import Foundation
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyScratch
import LatchkeySodium
import Testing

/// The vectors of vectors.json, which generate_keybags.py makes from FORMAT.md alone.
struct Vectors: Decodable {
  struct Derivation: Decodable {
    let label, key, output: String
    let inputs: [String]
  }
  struct Sealed: Decodable {
    let key, plaintext, associated, sealed: String
  }
  struct PasswordDerivation: Decodable {
    let password, salt, output: String
    let passes: UInt32
    let memory: UInt64
  }
  struct Checksum: Decodable {
    let input, output: String
  }
  struct Bag: Decodable {
    struct Password: Decodable {
      let password: String
      let protector: Int
    }
    let name, vault, tierA, tierC, file: String
    let generation, created: UInt64
    struct Code: Decodable {
      let code: String
      let protector: Int
    }
    let passwords: [Password]
    let codes: [Code]?
    struct DeviceWay: Decodable {
      let file, id, identity, wrapped, secret: String
      let protector: Int
    }
    let device: DeviceWay?
    struct SessionWay: Decodable {
      let id, identity, wrapped, secret: String
      let user: UInt32
      let protector: Int
    }
    let session: SessionWay?
    struct SecurityKeyWay: Decodable {
      let answer, label, credential, party, challenge: String
      let protector: Int
    }
    let securityKeys: [SecurityKeyWay]?
    let formerA, formerC: String?
  }
  struct Device: Decodable {
    let file, identity, context, share, bound, erasable: String
    let machine: String?
  }
  let kdf: [Derivation]
  let aead: [Sealed]
  let argon2id: [PasswordDerivation]
  let checksum: [Checksum]
  let keybags: [Bag]
  let devices: [Device]

  init() throws {
    let url = try #require(Bundle.module.url(forResource: "vectors", withExtension: "json"))
    self = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
  }
}

@Suite("The programs agree with FORMAT.md")
struct KeybagVectorTests {
  private let vectors: Vectors

  init() throws {
    try Sodium.initialize()
    vectors = try Vectors()
  }

  @Test("Every label derives the key that FORMAT.md describes")
  func derivations() throws {
    var covered: Set<String> = []
    for vector in vectors.kdf {
      let label = try #require(KeyLabel.allCases.first { $0.text.description == vector.label })
      covered.insert(vector.label)
      let key = try Key(copying: [UInt8](hex: vector.key).span.bytes)
      let inputs = vector.inputs.map { [UInt8](hex: $0) }
      let output = [UInt8](hex: vector.output)
      #expect(try key.tag(label, inputs, length: output.count) == output)
      if output.count == 32 { #expect(octets(try key.derive(label, inputs)) == output) }
    }
    #expect(covered.count == KeyLabel.allCases.count)
  }

  @Test("Labels differ, and FORMAT.md has all of them")
  func labels() throws {
    let texts = KeyLabel.allCases.map(\.text.description)
    #expect(Set(texts).count == texts.count)
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let format = try String(contentsOf: root.appendingPathComponent("FORMAT.md"), encoding: .utf8)
    let rest = try #require(format.components(separatedBy: "\n## Labels\n").last)
    let section = try #require(rest.components(separatedBy: "\n## ").first)
    let named = Set(section.split { !$0.isLetter && $0 != "-" }.map(String.init))
    for text in texts {
      #expect(text.hasPrefix("latchkey/1/"))
      #expect(named.contains(String(text.dropFirst(11))), "\(text)")
    }
  }

  @Test("Sealed values open")
  func sealed() throws {
    for vector in vectors.aead {
      let key = try Key(copying: [UInt8](hex: vector.key).span.bytes)
      let plaintext = try AEAD.open(
        [UInt8](hex: vector.sealed).span.bytes, key: key, associated: [UInt8](hex: vector.associated))
      #expect(octets(plaintext) == [UInt8](hex: vector.plaintext))
    }
  }

  @Test("Argon2id and the check sum are the published algorithms")
  func hashes() throws {
    for vector in vectors.argon2id {
      let key = try PasswordHash.derive(
        password: [UInt8](hex: vector.password).span.bytes, salt: [UInt8](hex: vector.salt), passes: vector.passes,
        memory: vector.memory)
      #expect(octets(key) == [UInt8](hex: vector.output))
    }
    for vector in vectors.checksum {
      #expect(Sodium.checksum([UInt8](hex: vector.input).span.bytes) == [UInt8](hex: vector.output))
    }
  }

  @Test("Keybags open with their passwords, and have their tier keys")
  func keybags() throws {
    #expect(!vectors.keybags.isEmpty)
    for vector in vectors.keybags {
      let file = [UInt8](hex: vector.file)
      let keybag = try Keybag(decoding: file)
      #expect(keybag.encoded == file)
      #expect(keybag.vault == [UInt8](hex: vector.vault))
      #expect(keybag.generation == vector.generation)
      #expect(keybag.created == vector.created)
      for password in vector.passwords {
        let opened = try keybag.open(with: Array(password.password.utf8))
        #expect(opened.protector == password.protector)
        let tiers = try opened.tiers()
        #expect(octets(tiers.unlocked) == [UInt8](hex: vector.tierA))
        #expect(octets(tiers.session) == [UInt8](hex: vector.tierC))
        #expect(try keybag.recognises(tiers))
      }
      for code in vector.codes ?? [] {
        let opened = try keybag.open(code: try RecoveryCode(typed: Array(code.code.utf8).span.bytes))
        #expect(opened.protector == code.protector)
        #expect(octets(try opened.tiers().unlocked) == [UInt8](hex: vector.tierA))
        let former = try opened.formerTiers()
        #expect(octets(former[0].tiers.unlocked) == [UInt8](hex: try #require(vector.formerA)))
        #expect(octets(former[0].tiers.session) == [UInt8](hex: try #require(vector.formerC)))
        #expect(try keybag.recognises(former))
      }
      #expect(failure { () throws(KeybagError) in _ = try keybag.open(with: [1]) } == .wrongPassword)
    }
  }

  @Test("A keybag without a password opens with the secret that its device key unwraps")
  func passwordless() throws {
    let all = vectors.keybags.filter { $0.device != nil }
    #expect(all.count == 1)
    for vector in all {
      let way = try #require(vector.device)
      let keybag = try Keybag(decoding: [UInt8](hex: vector.file))
      #expect(keybag.isPasswordless)
      let protector = try #require(keybag.deviceProtector)
      let wrapping = try #require(protector.deviceWrapping)
      #expect(protector.id == [UInt8](hex: way.id) && protector == keybag.protectors[way.protector])
      #expect(wrapping.identity == [UInt8](hex: way.identity) && wrapping.wrapped == [UInt8](hex: way.wrapped))

      let scratch = try ScratchFolder()
      try scratch.put(FileDeviceKey.name, [UInt8](hex: way.file))
      let device = try FileDeviceKey(
        folder: try Folder(path: scratch.path, owner: geteuid()), machine: nil, mayCreate: false)
      #expect(device.identity == wrapping.identity)
      let context = DeviceSecret.context(vault: keybag.vault, protector: protector.id)
      let secret = try device.unwrap(wrapping.wrapped, .bound, context: context)
      #expect(octets(secret) == [UInt8](hex: way.secret))
      let opened = try keybag.open(deviceSecret: secret)
      #expect(opened.protector == way.protector)
      #expect(octets(try opened.tiers().unlocked) == [UInt8](hex: vector.tierA))
      #expect(octets(try opened.tiers().session) == [UInt8](hex: vector.tierC))
      #expect(try keybag.recognises(try opened.formerTiers()))
    }
  }

  @Test("A session's protector gives tier key C with the secret that the device key service unwraps")
  func session() throws {
    let all = vectors.keybags.filter { $0.session != nil }
    #expect(all.count == 1)
    for vector in all {
      let way = try #require(vector.session)
      let keybag = try Keybag(decoding: [UInt8](hex: vector.file))
      let protector = try #require(keybag.sessionProtector)
      #expect(protector == keybag.protectors[way.protector] && protector.id == [UInt8](hex: way.id))
      let wrapping = try #require(protector.deviceWrapping)
      #expect(wrapping.identity == [UInt8](hex: way.identity) && wrapping.wrapped == [UInt8](hex: way.wrapped))
      let secret = try Key(copying: [UInt8](hex: way.secret).span.bytes)
      let opened = try keybag.open(sessionSecret: secret)
      #expect(opened.epoch == 2 && octets(opened.key) == [UInt8](hex: vector.tierC))
      #expect(try keybag.recognises(opened))
    }
  }

  @Test("Device keys have their identities and unwrap their shares")
  func devices() throws {
    #expect(!vectors.devices.isEmpty)
    for vector in vectors.devices {
      let scratch = try ScratchFolder()
      try scratch.put(FileDeviceKey.name, [UInt8](hex: vector.file))
      let folder = try Folder(path: scratch.path, owner: geteuid())
      let device = try FileDeviceKey(
        folder: folder, machine: vector.machine.map { [UInt8](hex: $0) }, mayCreate: false)
      #expect(device.identity == [UInt8](hex: vector.identity))
      #expect(device.backend == .file)
      let context = [UInt8](hex: vector.context)
      #expect(
        octets(try device.unwrap([UInt8](hex: vector.bound), .bound, context: context)) == [UInt8](hex: vector.share))
      #expect(
        octets(try device.unwrap([UInt8](hex: vector.erasable), .erasable, context: context))
          == [UInt8](hex: vector.share))
    }
  }
}
