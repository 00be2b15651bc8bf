import {own} from './own.ts'
import {isRecord} from './record.ts'

// Schema is a JSON Schema as the server publishes them (draft 2020-12). true allows all, false nothing.
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

// within gives the value at the end of a path of keys, each one that the value before has itself; undefined where there is none.
export const within = (v: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((x, k) => (isRecord(x) ? own(x, k) : undefined), v)

// typesOf gives the types that a schema names; none: it allows all.
export const typesOf = (s: {readonly type?: unknown}): string[] =>
  (Array.isArray(s.type) ? s.type : s.type === undefined ? [] : [s.type]).filter(t => typeof t === 'string')

// resolved follows the references of a schema, which name others within root. Keys beside a reference apply, too, before those of the schema that it names. What is no schema, or not
// there, allows all.
export function resolved<S extends Members>(schema: unknown, root: unknown): S | boolean {
  let s = schema
  for (let i = 0; i < 20 && isRecord(s) && typeof s.$ref === 'string'; i++) s = joined(s, named(root, s.$ref))
  return isRecord(s) ? (s as S) : s !== false
}

const named = (root: unknown, ref: string): unknown => {
  const [first, ...path] = ref.split('/')
  return first === '#' ? within(root, ...path.map(k => k.replaceAll('~1', '/').replaceAll('~0', '~'))) : undefined
}

// What was joined is the same object the next time, as schemas are told apart by it.
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
