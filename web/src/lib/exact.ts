// Exact is a number of JSON that a number of JavaScript would change: an integer beyond 2^53, or one with more digits. A person decides about the real arguments of a call (SEC12).
export class Exact {
  constructor(readonly source: string) {}
}

const mark = `exact ${crypto.randomUUID()} `
const marked = new RegExp(`"${mark}([^"]*)"`, 'g')
const long = /-?\d[\d.eE+-]{15,}/g

const changes = (source: string): boolean => {
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(Number(source))
  const digits = source
    .replace(/[eE].*$/, '')
    .replace('.', '')
    .replace(/^-?0*/, '')
    .replace(/0*$/, '')
  return digits.length > 17
}

// parse is JSON.parse that keeps numbers which JavaScript cannot hold as Exact.
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
  JSON.parse(text) // what stands between the marks must be JSON by itself
  return JSON.parse(out, (_, v) => (typeof v === 'string' && v.startsWith(mark) ? new Exact(v.slice(mark.length)) : v))
}

// endOf gives the place behind the text of JSON that begins with the quote at i.
function endOf(text: string, i: number): number {
  for (let at = i + 1; ; at++) {
    at = text.indexOf('"', at)
    if (at < 0) return text.length
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at + 1
  }
}

// stringify is JSON.stringify that writes Exact as its number.
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
