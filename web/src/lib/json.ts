// deepest bounds how deep a value is shown: JSON of models may be thousands of levels deep.
const deepest = 60

// pretty writes a value with indentation, to a depth. It does not recurse without a bound.
export function pretty(v: unknown, depth = 0): string {
  if (v === null || typeof v !== 'object') return JSON.stringify(v) ?? 'null'
  if (depth >= deepest) return Array.isArray(v) ? '[…]' : '{…}'
  const pad = '  '.repeat(depth + 1)
  const end = `\n${'  '.repeat(depth)}`
  if (Array.isArray(v)) return v.length === 0 ? '[]' : `[\n${v.map(x => pad + pretty(x, depth + 1)).join(',\n')}${end}]`
  const all = Object.entries(v)
  return all.length === 0 ? '{}' : `{\n${all.map(([k, x]) => `${pad}${JSON.stringify(k)}: ${pretty(x, depth + 1)}`).join(',\n')}${end}}`
}

// asText gives a value as people read it: texts as they are, all else as JSON.
export const asText = (v: unknown): string => (typeof v === 'string' ? v : v === null || v === undefined ? '' : pretty(v))

export type Reference = {bytes: number; sha256: string; head: string; href: string}

// referenceOf gives the reference that stands for a long value; null where the value is itself.
export function referenceOf(v: unknown): Reference | null {
  if (v === null || typeof v !== 'object' || Array.isArray(v)) return null
  const keys = Object.keys(v)
  const r = (v as {$value?: unknown}).$value
  return keys.length === 1 && r && typeof r === 'object' && 'sha256' in r ? (r as Reference) : null
}
