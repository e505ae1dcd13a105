import Foundation
import Security
import X509

/// A certificate that signed itself, for the name "beside".
let text = """
  MIIBeTCCAR+gAwIBAgIURjfU8le0eRBjLZNJL2aN0iGJmMcwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGYmVzaWRl
  MCAXDTI2MTEyMjAzNDQxNVoYDzIxMjYxMDI5MDM0NDE1WjARMQ8wDQYDVQQDDAZiZXNpZGUwWTATBgcqhkjOPQIB
  BggqhkjOPQMBBwNCAARpN4tF1RatsrVa+EEerQEwsJ4PqiTgig9i/CkRL69jRnktyku2STKwbnEuvfKKNYVKrw8n
  UvuleZkf2FuyN51Ro1MwUTAdBgNVHQ4EFgQU42vsjGMK5SEvhRg+nIszpMcrqBAwHwYDVR0jBBgwFoAU42vsjGMK
  5SEvhRg+nIszpMcrqBAwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAqS3FeJdpPedS5Zh79KaW
  /7FRoeU9rx1OW7ASvEJK+l0CIDDt5X9m3eZRSZuAGmkaz80tXyjjGywGg/OhER289Nr+
  """

// Both sides in one program: what one reads, the other keeps.
guard let der = Data(base64Encoded: text, options: .ignoreUnknownCharacters),
  let kept = SecCertificateCreateWithData(nil, der as CFData)
else { fatalError("the certificate is not kept") }
let certificate = try Certificate(derEncoded: Array(SecCertificateCopyData(kept) as Data))
print(certificate.subject)
