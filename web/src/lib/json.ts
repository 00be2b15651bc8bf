import {Exact, stringify} from './exact.ts'

// deepest limits the depth to which a value is shown: JSON from models may be thousands of levels
// deep.
const deepest = 60

// pretty formats a value with indentation, up to a depth, which also limits its recursion.
export function pretty(v: unknown, depth = 0): string {
  if (v === null || typeof v !== 'object' || v instanceof Exact) return stringify(v) ?? 'null'
  if (depth >= deepest) return Array.isArray(v) ? '[…]' : '{…}'
  const pad = '  '.repeat(depth + 1)
  const end = `\n${'  '.repeat(depth)}`
  if (Array.isArray(v)) return v.length === 0 ? '[]' : `[\n${v.map(x => pad + pretty(x, depth + 1)).join(',\n')}${end}]`
  const all = Object.entries(v)
  return all.length === 0
    ? '{}'
    : `{\n${all.map(([k, x]) => `${pad}${JSON.stringify(k)}: ${pretty(x, depth + 1)}`).join(',\n')}${end}}`
}

// asText formats a value for people: strings are unchanged, a long value that the server left out
// is shown as its beginning and its reference, and all other values are JSON.
export function asText(v: unknown): string {
  if (typeof v === 'string') return v
  if (v === null || v === undefined) return ''
  const ref = referenceOf(v)
  return ref ? `${ref.head}… (${ref.bytes} bytes, ${ref.sha256.slice(0, 12)})` : pretty(v)
}

// brief returns the beginning of a value in one line.
export const brief = (v: unknown): string => {
  if (typeof v === 'string') return v.slice(0, 300)
  if (v === null || v === undefined) return ''
  return (referenceOf(v)?.head ?? inLine(v)).slice(0, 300)
}

const inLine = (v: unknown): string => {
  try {
    return stringify(v) ?? ''
  } catch {
    return pretty(v).replace(/\n */g, ' ') // the value is too deep
  }
}

export type Reference = {bytes: number; sha256: string; head: string; href: string}

// referenceOf returns the reference that replaces a long value, or null if the value is present.
export function referenceOf(v: unknown): Reference | null {
  if (v === null || typeof v !== 'object' || Array.isArray(v)) return null
  const keys = Object.keys(v)
  const r = (v as {$value?: unknown}).$value
  return keys.length === 1 && r && typeof r === 'object' && 'sha256' in r ? (r as Reference) : null
}

// kindOf determines from the address of a reference whether its value is a string or other JSON.
export const kindOf = (r: Reference): 'text' | 'json' => (/[?&]type=json(&|$)/.test(r.href) ? 'json' : 'text')
