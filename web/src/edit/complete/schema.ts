import {resolved, type Schema, type SchemaObject, typesOf} from '../../lib/json_schema.ts'
import {own} from '../../lib/own.ts'
import {type Node, valueOf} from './tree.ts'

// Shape is one way in which a value can be built: all of its schemas apply.
export type Shape = readonly SchemaObject[]

// most limits the shapes that are examined.
const most = 32

// Schemas follows a schema into a document that may be incomplete.
export class Schemas {
  constructor(readonly root: SchemaObject) {}

  // shapes returns the possible shapes of the value at the end of some steps. last is the value;
  // nothing is concluded from an incomplete one.
  shapes(steps: readonly {node: Node; to: string | number}[], last: Node | null): Shape[] {
    let now = this.#all([this.root], steps[0]?.node ?? last)
    steps.forEach((step, i) => {
      now = this.child(now, step.to, steps[i + 1]?.node ?? last)
    })
    return now
  }

  // child returns the possible shapes of a value of a map or a list. value is the current value, or
  // null if it is unknown.
  child(shapes: readonly Shape[], to: string | number, value: Node | null): Shape[] {
    const out: Shape[] = []
    const seen = new Set<string>()
    for (const shape of shapes) {
      const found = shape.flatMap(s => (typeof to === 'number' ? itemOf(s, to) : memberOf(s, to)))
      if (found.includes(false)) continue
      const key = found.map(idOf).join()
      if (seen.has(key)) continue
      seen.add(key)
      out.push(...this.#all(found, value))
    }
    return out.slice(0, most)
  }

  #all(schemas: readonly Schema[], value: Node | null): Shape[] {
    return schemas.reduce<Shape[]>((ways, s) => join(ways, this.#ways(s, value, 0)), [[]])
  }

  #ways(schema: Schema, value: Node | null, depth: number): Shape[] {
    const s = resolved<SchemaObject>(schema, this.root)
    if (typeof s === 'boolean' || depth > 20) return [[]]
    let ways: Shape[] = [[s]]
    for (const part of s.allOf ?? []) ways = join(ways, this.#ways(part, value, depth + 1))
    for (const some of [s.anyOf, s.oneOf]) {
      if (!some) continue
      const sure = some.filter(a => this.#fits(a, value, true, depth + 1) === true)
      const can = sure.length > 0 ? sure : some.filter(a => this.#fits(a, value, false, depth + 1) !== false)
      ways = join(ways, (can.length > 0 ? can : some).flatMap(a => this.#ways(a, value, depth + 1)).slice(0, most))
    }
    if (s.if !== undefined && value) {
      const holds = this.#fits(s.if, value, true, depth + 1)
      const next = holds === true ? s.then : holds === false ? s.else : undefined
      if (next !== undefined) ways = join(ways, this.#ways(next, value, depth + 1))
    }
    for (const [key, next] of Object.entries(s.dependentSchemas ?? {}))
      if (value && valueOf(value, key)) ways = join(ways, this.#ways(next, value, depth + 1))
    return ways
  }

  // #fits reports whether a value matches a schema; undefined means that this cannot be determined
  // yet. If whole is set, required keys must be present; otherwise they may be added later.
  #fits(schema: Schema, value: Node | null, whole: boolean, depth: number): boolean | undefined {
    const s = resolved<SchemaObject>(schema, this.root)
    if (typeof s === 'boolean') return s
    if (!value || value.kind === 'none' || value.marked || depth > 20) return undefined
    const results: (boolean | undefined)[] = []
    if (s.const !== undefined) results.push(equals(value, s.const))
    if (s.enum) results.push(s.enum.some(v => equals(value, v)))
    if (s.type !== undefined) results.push(typesOf(s).some(t => isType(value, t)))
    if (value.kind === 'map') {
      if (whole)
        for (const key of s.required ?? []) results.push(value.entries.some(e => e.colon && e.key.text === key))
      for (const e of value.entries) {
        if (!e.colon || e.key.marked) continue
        const found = memberOf(s, e.key.text)
        if (found.includes(false)) results.push(false)
        for (const next of found)
          if (typeof next === 'object') results.push(this.#fits(next, e.value, whole, depth + 1) !== false)
      }
      if (s.maxProperties !== undefined && value.entries.length > s.maxProperties) results.push(false)
    }
    for (const part of s.allOf ?? []) results.push(this.#fits(part, value, whole, depth + 1))
    for (const some of [s.anyOf, s.oneOf])
      if (some) results.push(either(some.map(a => this.#fits(a, value, whole, depth + 1))))
    if (s.not !== undefined && this.#fits(s.not, value, true, depth + 1) === true) results.push(false)
    return results.includes(false) ? false : results.includes(undefined) ? undefined : true
  }
}

const either = (all: (boolean | undefined)[]): boolean | undefined =>
  all.includes(true) ? true : all.includes(undefined) ? undefined : false

// memberOf returns the schemas of a member of a map.
function memberOf(s: SchemaObject, key: string): Schema[] {
  const out: Schema[] = []
  const named = own(s.properties ?? {}, key)
  if (named !== undefined) out.push(named)
  for (const [pattern, next] of Object.entries(s.patternProperties ?? {}))
    if (new RegExp(pattern, 'u').test(key)) out.push(next)
  if (out.length === 0 && s.additionalProperties !== undefined) out.push(s.additionalProperties)
  return out
}

const itemOf = (s: SchemaObject, index: number): Schema[] => {
  const next = s.prefixItems?.[index] ?? s.items
  return next === undefined ? [] : [next]
}

const join = (a: readonly Shape[], b: readonly Shape[]): Shape[] =>
  a.flatMap(x => b.map(y => [...x, ...y])).slice(0, most)

const ids = new WeakMap<object, number>()
let lastID = 0

function idOf(s: Schema): number | boolean {
  if (typeof s === 'boolean') return s
  const id = ids.get(s) ?? ++lastID
  ids.set(s, id)
  return id
}

const numeric = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/

function isType(value: Node, type: string): boolean {
  if (value.kind === 'map') return type === 'object'
  if (value.kind === 'list') return type === 'array'
  if (value.quote !== '') return type === 'string'
  switch (type) {
    case 'boolean':
      return /^(true|false)$/i.test(value.text)
    case 'null':
      return /^(null|~|)$/i.test(value.text)
    case 'number':
      return numeric.test(value.text)
    case 'integer':
      return /^[-+]?\d+$/.test(value.text)
    default:
      return type === 'string'
  }
}

const equals = (value: Node, v: unknown): boolean =>
  value.kind === 'text' &&
  (v === null
    ? value.quote === '' && /^(null|~|)$/i.test(value.text)
    : typeof v !== 'object' && value.text === String(v))
