// Exact is a JSON number that a JavaScript number would change: an integer beyond 2^53, or a number
// with more digits. A person decides about the real arguments of a call (SEC12).
export class Exact {
  constructor(readonly source: string) {}
}

const mark = `exact ${crypto.randomUUID()} `
const marked = new RegExp(`"${mark}([^"]*)"`, 'g')
const long = /-?\d[\d.eE+-]{15,}/g

const changes = (source: string): boolean => {
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(Number(source))
  let digits = 0 // from the first nonzero digit to the last
  let zeros = 0
  for (const c of source) {
    if (c === 'e' || c === 'E') break
    if (c < '0' || c > '9') continue
    if (c === '0') zeros += digits > 0 ? 1 : 0
    else {
      digits += zeros + 1
      zeros = 0
    }
    if (digits > 17) return true
  }
  return false
}

// parse is JSON.parse, but returns numbers that JavaScript cannot represent as Exact.
export function parse(text: string): unknown {
  let out = ''
  let found = false
  for (let at = 0; ; ) {
    const quote = text.indexOf('"', at)
    out += text.slice(at, quote < 0 ? undefined : quote).replace(long, n => {
      if (!changes(n)) return n
      found = true
      return `"${mark}${n}"`
    })
    if (quote < 0) break
    at = endOf(text, quote)
    out += text.slice(quote, at)
  }
  if (!found) return JSON.parse(text)
  JSON.parse(text) // the text between the marks must be valid JSON by itself
  return unmarked(JSON.parse(out))
}

const exact = (v: unknown): unknown =>
  typeof v === 'string' && v.startsWith(mark) ? new Exact(v.slice(mark.length)) : v

// unmarked replaces marks with numbers. It is not recursive, because JSON may be thousands of
// levels deep.
function unmarked(root: unknown): unknown {
  const open: object[] = []
  const enter = (v: unknown) => {
    if (v !== null && typeof v === 'object') open.push(v)
  }
  enter(root)
  for (let at = open.pop(); at; at = open.pop()) {
    for (const [k, v] of Object.entries(at)) {
      const now = exact(v)
      if (now === v) enter(v)
      // also __proto__
      else Object.defineProperty(at, k, {value: now, writable: true, enumerable: true, configurable: true})
    }
  }
  return exact(root)
}

// endOf returns the offset after the JSON string that starts with the quote at i.
function endOf(text: string, i: number): number {
  for (let at = i + 1; ; at++) {
    at = text.indexOf('"', at)
    if (at < 0) return text.length
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at + 1
  }
}

// stringify is JSON.stringify, but writes Exact as its number.
export function stringify(v: unknown, indent?: number): string {
  let found = false
  const text = JSON.stringify(
    v,
    (_, x) => {
      if (!(x instanceof Exact)) return x
      found = true
      return mark + x.source
    },
    indent,
  )
  return found ? text.replace(marked, '$1') : text
}
