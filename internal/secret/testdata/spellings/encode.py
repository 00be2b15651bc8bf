import base64, binascii, html, json, urllib.parse
from xml.sax.saxutils import quoteattr

encoders = {
    "json": json.dumps,
    "json, not ASCII alone": lambda s: json.dumps(s, ensure_ascii=False),
    "json in json": lambda s: json.dumps(json.dumps(s)),
    "json in json in json": lambda s: json.dumps(json.dumps(json.dumps(s))),
    "ascii": ascii,
    "repr of bytes": lambda s: repr(s.encode()),
    "unicode_escape": lambda s: s.encode("unicode_escape").decode() if s.isascii() else ascii(s)[1:-1],
    "json in an address": lambda s: urllib.parse.quote(json.dumps(s), safe=""),
    "quote": urllib.parse.quote,
    "quote all": lambda s: urllib.parse.quote(s, safe=""),
    "quote, lower case": lambda s: "".join("%%%02x" % b for b in s.encode()),
    "quote twice": lambda s: urllib.parse.quote(urllib.parse.quote(s, safe=""), safe=""),
    "quote_plus": urllib.parse.quote_plus,
    "html.escape": html.escape,
    "html in json": lambda s: json.dumps(html.escape(s)),
    "quoteattr": quoteattr,
    "xmlcharrefreplace": lambda s: html.escape(s).encode("ascii", "xmlcharrefreplace").decode(),
    "decimal references": lambda s: "".join("&#%d;" % ord(c) for c in s),
    "hexadecimal references": lambda s: "".join("&#x%X;" % ord(c) for c in s),
    "padded references": lambda s: "".join("&#%07d" % ord(c) + ";" for c in s),
    "hexlify": lambda s: binascii.hexlify(s.encode()).decode(),
    "hex, upper case": lambda s: s.encode().hex().upper(),
    "hex with colons": lambda s: s.encode().hex(":"),
    "hex in groups": lambda s: s.encode().hex(" ", 2),
    "hex of json": lambda s: json.dumps(s).encode().hex(),
    "b64encode": lambda s: base64.b64encode(s.encode()).decode(),
    "urlsafe_b64encode": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    "encodebytes": lambda s: base64.encodebytes(s.encode() * 5).decode(),
    "encodebytes in json": lambda s: json.dumps(base64.encodebytes(s.encode() * 5).decode()),
    "b64encode of json": lambda s: base64.b64encode(json.dumps(s, ensure_ascii=False).encode()).decode(),
    "b64encode in an address": lambda s: urllib.parse.quote(base64.b64encode(s.encode()).decode(), safe=""),
    "b64encode twice": lambda s: base64.b64encode(base64.b64encode(s.encode())).decode(),
    "all \\x": lambda s: "".join("\\x%02x" % b for b in s.encode()),
    "all \\U": lambda s: "".join("\\U%08x" % ord(c) for c in s),
}
for value in open("values.txt", encoding="utf-8").read().splitlines():
    for name, encode in encoders.items():
        for before, after in (("", ""), ("u:", ""), ("key", ", end")):
            around = 0 if before + after == "" else len(encode(before + after).encode())
            print(json.dumps({"encoder": name, "text": encode(before + value + after), "around": around}))
