import {own} from './own.ts'
import {isRecord} from './record.ts'

// Schema is a JSON Schema as the server publishes it (draft 2020-12). true allows everything, false
// nothing.
export type Schema = boolean | SchemaObject
export type SchemaObject = {
  $ref?: string
  $defs?: Record<string, Schema>
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  const?: unknown
  examples?: unknown[]
  deprecated?: boolean
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: Schema
  propertyNames?: Schema
  required?: string[]
  maxProperties?: number
  items?: Schema
  prefixItems?: Schema[]
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  not?: Schema
  if?: Schema
  then?: Schema
  else?: Schema
  dependentSchemas?: Record<string, Schema>
}

type Members = Readonly<Record<string, unknown>>

// within returns the value at the end of a path of keys, each an own property of the previous
// value, or undefined if there is none.
export const within = (v: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((x, k) => (isRecord(x) ? own(x, k) : undefined), v)

// typesOf returns the types that a schema names; an empty list means that all types are allowed.
export const typesOf = (s: {readonly type?: unknown}): string[] =>
  (Array.isArray(s.type) ? s.type : s.type === undefined ? [] : [s.type]).filter(t => typeof t === 'string')

// resolved follows the references of a schema, which point to schemas within root. Keys next to a
// reference also apply, and precede the keys of the referenced schema. An invalid or missing schema
// allows everything.
export function resolved<S extends Members>(schema: unknown, root: unknown): S | boolean {
  let s = schema
  for (let i = 0; i < 20 && isRecord(s) && typeof s.$ref === 'string'; i++) s = joined(s, named(root, s.$ref))
  return isRecord(s) ? (s as S) : s !== false
}

const named = (root: unknown, ref: string): unknown => {
  const [first, ...path] = ref.split('/')
  return first === '#' ? within(root, ...path.map(k => k.replaceAll('~1', '/').replaceAll('~0', '~'))) : undefined
}

// A merged schema is the same object the next time, because schemas are compared by identity.
const known = new WeakMap<object, {to: unknown; all: Members}>()

function joined(at: Members, to: unknown): unknown {
  const {$ref: _, ...rest} = at
  if (to === false || Object.keys(rest).length === 0) return to
  const before = known.get(at)
  if (before && before.to === to) return before.all
  const all = isRecord(to) ? {...to, ...rest} : rest
  known.set(at, {to, all})
  return all
}
