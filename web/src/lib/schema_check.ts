import {Exact, stringify} from './exact.ts'
import {own} from './own.ts'

// Problem describes a violation of a schema. pointer is the JSON Pointer (RFC 6901) of the invalid
// value; '' is the root.
export type Problem = {pointer: string; message: string}

type Schema = {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, unknown>
  required?: string[]
  additionalProperties?: unknown
  items?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

const most = 20
const deepest = 60

const typeOf = (v: unknown): string =>
  v === null ? 'null' : Array.isArray(v) ? 'array' : v instanceof Exact ? 'number' : typeof v

const isType = (v: unknown, type: string): boolean =>
  type === 'integer'
    ? (typeof v === 'number' && Number.isInteger(v)) || (v instanceof Exact && /^-?\d+$/.test(v.source))
    : typeOf(v) === type

const same = (a: unknown, b: unknown): boolean => {
  try {
    return stringify(a) === stringify(b)
  } catch {
    return false // too deep
  }
}

// escape escapes a key for use in a JSON Pointer.
export const escape = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

// problemsOf returns the parts of a value that the server would certainly reject, so that the user
// sees the problem at the field. It knows the common keywords; the server checks them all.
export function problemsOf(given: unknown, value: unknown): Problem[] {
  const out: Problem[] = []
  walk(given, value, '', 0, out)
  return out.slice(0, most)
}

function walk(given: unknown, value: unknown, pointer: string, depth: number, out: Problem[]): void {
  if (given === null || typeof given !== 'object' || depth > deepest || out.length >= most) return
  const s = given as Schema
  const say = (message: string, at = pointer) => out.push({pointer: at, message})
  const types = s.type === undefined ? [] : Array.isArray(s.type) ? s.type : [s.type]
  if (types.length > 0 && !types.some(t => isType(value, t))) {
    say(`must be ${types.join(' or ')}, not ${typeOf(value)}`)
    return
  }
  if (s.enum && !s.enum.some(e => same(e, value)))
    say(`must be one of ${s.enum.map(e => JSON.stringify(e)).join(', ')}`)
  if (s.const !== undefined && !same(s.const, value)) say(`must be ${JSON.stringify(s.const)}`)
  if (typeof value === 'number') {
    if (s.minimum !== undefined && value < s.minimum) say(`must be at least ${s.minimum}`)
    if (s.maximum !== undefined && value > s.maximum) say(`must be at most ${s.maximum}`)
  } else if (typeof value === 'string') {
    const n = [...value].length
    if (s.minLength !== undefined && n < s.minLength) say(`must have at least ${s.minLength} characters`)
    if (s.maxLength !== undefined && n > s.maxLength) say(`must have at most ${s.maxLength} characters`)
  } else if (Array.isArray(value)) {
    if (s.minItems !== undefined && value.length < s.minItems) say(`must have at least ${s.minItems} items`)
    if (s.maxItems !== undefined && value.length > s.maxItems) say(`must have at most ${s.maxItems} items`)
    for (const [i, v] of value.entries()) walk(s.items, v, `${pointer}/${i}`, depth + 1, out)
  } else if (value !== null && typeof value === 'object' && !(value instanceof Exact))
    inObject(s, value as Record<string, unknown>, pointer, depth, out)
}

function inObject(s: Schema, value: Record<string, unknown>, pointer: string, depth: number, out: Problem[]): void {
  const has = (key: string) => Object.hasOwn(value, key)
  for (const key of s.required ?? [])
    if (!has(key)) out.push({pointer: `${pointer}/${escape(key)}`, message: 'is missing'})
  for (const [key, v] of Object.entries(value)) {
    const at = `${pointer}/${escape(key)}`
    const known = s.properties && Object.hasOwn(s.properties, key)
    if (known) walk(s.properties![key], v, at, depth + 1, out)
    else if (s.additionalProperties === false) out.push({pointer: at, message: 'is not a parameter'})
    else walk(s.additionalProperties, v, at, depth + 1, out)
  }
}

// changesOf lists the pointers of values that differ: values that were changed, added or removed.
export function changesOf(a: unknown, b: unknown, pointer = '', depth = 0): string[] {
  if (same(a, b)) return []
  const object = (v: unknown): v is Record<string, unknown> =>
    v !== null && typeof v === 'object' && !Array.isArray(v) && !(v instanceof Exact)
  if (!object(a) || !object(b) || depth > deepest) return [pointer || '/']
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return keys.flatMap(k => changesOf(own(a, k), own(b, k), `${pointer}/${escape(k)}`, depth + 1))
}
