import Testing

/// The results of python3-secretstorage 3.3.3 (key) and python3-cryptography 38 (ciphertexts) for a pair of keys.
struct KnownAnswer: CustomTestStringConvertible {
  let testDescription: String
  /// The client's public key, 128 bytes.
  let clientPublicKey: [UInt8]
  let serverPrivateKey: [UInt8]
  let serverPublicKey: [UInt8]
  let sessionKey: [UInt8]
  /// The ciphertext of "Grüße aus dem Tresor" in UTF-8, under the IV 00 01 … 0f.
  let ciphertext: [UInt8]
  /// The ciphertext of no bytes, under the same IV.
  let emptyCiphertext: [UInt8]

  static let plaintext = Array("Grüße aus dem Tresor".utf8)
  static let iv = [UInt8](0..<16)

  static let all = [
    KnownAnswer(
      testDescription: "an ordinary handshake",
      clientPublicKey: bytes(
        hex: """
          b8fc2cb72cc21efeaa01f399d8008a8208383959b0fada7c1724efbc7d0c2c5787113b35e209b76cf347abccd0e4488c
          7b0850f78a21df33d209c1d8b11a923c3e813c973d7b7f5750ccd2fb83a4c26b1e1931571410c2241f49dc1c7bfb525c
          6a7f64e1c747c39a2599ef59e13371e0bea1347963e7579ec38da3ab1971f3c6
          """),
      serverPrivateKey: bytes(
        hex: """
          71f16e6f14343c2fabb81fb24c47e0997b4eaefb323aa6abc2511e91371f316a7f409b1b3211c37499c9619f42ae0d2a
          bdee652ebdc1af0502d6b539a6704306c67e83fcc6b280778a3a14522aaea5056364eff8a7ed4ae40ad57ab21a63059e
          adab59f8884abe07748c53f9714db1f6af303578d14cc7324b97dbc2f08ca3f9
          """),
      serverPublicKey: bytes(
        hex: """
          8789bbbd0d0beff5fc61c83c186dae09382e0a7898b8ff5778435463017174c2d2fa555a9015543bcea6a7c59d6077f0
          97142e7592a216af6bab4edfa4fc9b761dda284dbc394be6994c072a74646f0060315a69cfe3bdba92a0c5613edffdd3
          61c2ca7242b3db9027b62533e5fdd0eafbf777f37b10315c80944320ce2b67a7
          """),
      sessionKey: bytes(hex: "a1d9f7b001f5dd9b9c8a7e5bddba143e"),
      ciphertext: bytes(hex: "aafe09c1f0d387de5f0df186722e660f0509229e4716347e7b6a84a03c2f0bd6"),
      emptyCiphertext: bytes(hex: "2a6cb52acb4a6719beb9359c6337e4d0")
    ),
    KnownAnswer(
      testDescription: "a shared secret that starts with a zero byte",
      clientPublicKey: bytes(
        hex: """
          b8fc2cb72cc21efeaa01f399d8008a8208383959b0fada7c1724efbc7d0c2c5787113b35e209b76cf347abccd0e4488c
          7b0850f78a21df33d209c1d8b11a923c3e813c973d7b7f5750ccd2fb83a4c26b1e1931571410c2241f49dc1c7bfb525c
          6a7f64e1c747c39a2599ef59e13371e0bea1347963e7579ec38da3ab1971f3c6
          """),
      serverPrivateKey: bytes(
        hex: """
          06348eeca1eca4e90bc064824d513684504a4d37abcc45bfc0db028b2394a00faa5302fe167ed24e47f3f3174c6335e3
          eea0d98866c0a29126e3aee230aeffd9be1abe78d0bd3f37c54cefbaf437c0132d532b97f9960ecef1c18dddec305d98
          70aacc38e0660476a7af846d15413577bf272c843a16cdacd9cc8a53ed27db8a
          """),
      serverPublicKey: bytes(
        hex: """
          bdab882c89fd841b21b40ed5c730c3cab3c6c1a99724d8e8b1dc72acc9c8750b7f6776561824f031243b2299c80f821b
          e5151d82c8c88d2b6eb1a5ccef801b8f2a7b98088194a8b0478843987a9a84b38abdebb649869fd02dd26cca207dbb73
          7645ac1467d159f4185315d8009f2aab54b9741edc76d0c7da5be36d1d6343d4
          """),
      sessionKey: bytes(hex: "d36f1bbf2ea0175b024506795089f5eb"),
      ciphertext: bytes(hex: "d731027c303ecaac47ba3fbdb1084b124ef3af579dfe0e6ad1f50e4148b1fbc4"),
      emptyCiphertext: bytes(hex: "9f9a4b8890c426c245b8c4b978648d60")
    ),
    KnownAnswer(
      testDescription: "a client key that starts with two zero bytes",
      clientPublicKey: bytes(
        hex: """
          00008378ca5e412120aab14e6af4460daa419e956486855cd412247b76b2cd9a62ac34763ba5447af9ca8dfd26e1d8e9
          e784d4bcb668b76721a6099cf715cb132b04ac8d68d1371543a407414d767f57b74c74ed28393ed9331070e28209a7ef
          1f9f34899378a3916fb76a7b935bd4cab7aea28676dc271e88212dafd11e18f3
          """),
      serverPrivateKey: bytes(
        hex: """
          71f16e6f14343c2fabb81fb24c47e0997b4eaefb323aa6abc2511e91371f316a7f409b1b3211c37499c9619f42ae0d2a
          bdee652ebdc1af0502d6b539a6704306c67e83fcc6b280778a3a14522aaea5056364eff8a7ed4ae40ad57ab21a63059e
          adab59f8884abe07748c53f9714db1f6af303578d14cc7324b97dbc2f08ca3f9
          """),
      serverPublicKey: bytes(
        hex: """
          8789bbbd0d0beff5fc61c83c186dae09382e0a7898b8ff5778435463017174c2d2fa555a9015543bcea6a7c59d6077f0
          97142e7592a216af6bab4edfa4fc9b761dda284dbc394be6994c072a74646f0060315a69cfe3bdba92a0c5613edffdd3
          61c2ca7242b3db9027b62533e5fdd0eafbf777f37b10315c80944320ce2b67a7
          """),
      sessionKey: bytes(hex: "0838adce8fe2503c5e1fec87dd1c181a"),
      ciphertext: bytes(hex: "f2eabcdedd82355ed63f70a57eabc53f8e0a7184dbc63641e67cb5e737dc4347"),
      emptyCiphertext: bytes(hex: "dca0d1dd21647f12ac49fbfd0554ddb7")
    ),
  ]
}
