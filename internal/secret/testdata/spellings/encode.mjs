import { readFileSync } from 'node:fs'

const bytes = (s) => [...Buffer.from(s)]
const units = (s) => Array.from({ length: s.length }, (_, i) => s.charCodeAt(i))
const hex = (n, w) => n.toString(16).padStart(w, '0')
const encoders = {
  'JSON.stringify': (s) => JSON.stringify(s),
  'JSON.stringify twice': (s) => JSON.stringify(JSON.stringify(s)),
  encodeURIComponent,
  'encodeURIComponent of JSON': (s) => encodeURIComponent(JSON.stringify(s)),
  encodeURI,
  'URLSearchParams': (s) => new URLSearchParams({ k: s }).toString().slice(2),
  'all \\u': (s) => units(s).map((n) => '\\u' + hex(n, 4)).join(''),
  'all \\u, upper case': (s) => units(s).map((n) => '\\u' + hex(n, 4).toUpperCase()).join(''),
  'all \\u{}': (s) => [...s].map((c) => `\\u{${hex(c.codePointAt(0), 1)}}`).join(''),
  '\\u003d for signs': (s) => s.replace(/[^A-Za-z0-9]/g, (c) => units(c).map((n) => '\\u' + hex(n, 4)).join('')),
  'hexadecimal references for signs': (s) => s.replace(/[^A-Za-z0-9]/gu, (c) => `&#x${hex(c.codePointAt(0), 1)};`),
  'named references': (s) => s.replace(/[=+/&<>"$;]/g, (c) => ({ '=': '&equals;', '+': '&plus;', '/': '&sol;', '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', $: '&dollar;', ';': '&semi;' })[c]),
  'hex': (s) => Buffer.from(s).toString('hex'),
  'hex, 0x and commas': (s) => '0x' + bytes(s).map((n) => hex(n, 2)).join(','),
  'base64': (s) => Buffer.from(s).toString('base64'),
  'base64url': (s) => Buffer.from(s).toString('base64url'),
  'base64 of JSON of basic authentication': (s) => Buffer.from(JSON.stringify({ auth: Buffer.from('me:' + s).toString('base64') })).toString('base64'),
}
for (const value of readFileSync('values.txt', 'utf8').trimEnd().split('\n'))
  for (const [encoder, encode] of Object.entries(encoders))
    for (const [before, after] of [['', ''], ['u:', ''], ['key', ', end']])
      console.log(JSON.stringify({ encoder, text: encode(before + value + after), around: encoder.includes('basic') ? 40 : before + after === '' ? 0 : Buffer.byteLength(encode(before + after)) }))
