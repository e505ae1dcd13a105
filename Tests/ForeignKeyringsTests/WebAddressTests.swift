import Testing

@testable import LatchkeyForeignKeyrings

@Suite struct WebAddressTests {
  @Test(arguments: [
    ("https://a.example,https://b.example", "a.example"), ("https://a.example\nhttps://b.example", "a.example"),
    (" ; https://a.example/x,y", "a.example"), ("fritz.box", "fritz.box"), ("192.168.1.1/login", "192.168.1.1"),
    ("nas:8080/x", "nas"), ("nas", "nas"), ("localhost/x", "localhost"), ("HTTPS://Example.COM/", "example.com"),
    ("https://sp.example ", "sp.example"), ("//a.example/x", "a.example"),
    ("https://me:pw@a.example:8443?x", "a.example"),
    ("https://[2001:DB8::1]:443/x", "[2001:db8::1]"), ("me@a.example", "a.example"),
    ("fritz.box/?to=https://b.example", "fritz.box"), ("android://hash==@com.example.app/", "com.example.app"),
    ("notes, see https://b.example", "b.example"), ("bücher.example", "bücher.example"),
    ("https://{TITLE}.example", ""), ("cmd://ssh a.example", ""), ("n/a", ""), ("my router", ""), ("about:blank", ""),
    ("C:\\x", ""), ("file:///x", ""), ("https://", ""), ("https:///x", ""), (",", ""), ("-", ""), ("", ""),
  ])
  func theHostOfAText(_ text: String, _ server: String) { #expect(WebAddress.server(of: text) == server) }

  @Test func severalAddresses() {
    #expect(
      WebAddress.addresses(in: "a.example;https://b.example x").map(String.init) == ["a.example", "https://b.example"])
    #expect(WebAddress.addresses(in: "https://a.example/x,y").count == 1)
  }
}
