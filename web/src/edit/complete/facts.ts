import {type SchemaObject, typesOf} from '../../lib/json_schema.ts'
import type {Shape} from './schema.ts'
import type {Node} from './tree.ts'

// Facts is what a schema says about a value, in words.
export type Facts = {
  name: string
  title: string
  about: string[]
  type: string
  preset: string
  values: string[]
  required: boolean
  deprecated: boolean
}

const words: Record<string, string> = {
  object: 'map',
  array: 'list',
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
}

const shortest = (v: unknown): string => (typeof v === 'string' ? v || '""' : JSON.stringify(v))

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)]

// factsOf returns the facts about a value with several possible shapes.
export function factsOf(name: string, shapes: readonly Shape[], required = false): Facts {
  const all = unique(shapes.flat())
  const types = unique(all.flatMap(typesOf)).filter(t => t !== 'null')
  // a value that YAML reads as a number may be meant as a string
  const plain = ['string', 'number', 'boolean'].every(t => types.includes(t))
  const shown = types.filter(t => !(plain && (t === 'number' || t === 'boolean')))
  const preset = all.find(s => s.default !== undefined)?.default
  return {
    name,
    title: all.find(s => s.title)?.title ?? '',
    about: unique(all.map(s => s.description ?? '').filter(Boolean)).slice(0, 3),
    type: shown.map(t => words[t] ?? t).join(' or '),
    preset: preset === undefined ? '' : shortest(preset),
    values: valuesOf(shapes),
    required,
    deprecated: all.length > 0 && all.every(s => s.deprecated === true),
  }
}

// valuesOf returns the values that are allowed, as strings; booleans are included if nothing else
// is allowed. null and '' are meaningless, and are left out.
export function valuesOf(shapes: readonly Shape[]): string[] {
  const out = shapes.flatMap(shape => {
    const lists = shape.flatMap(s => (s.const !== undefined ? [[s.const]] : s.enum ? [s.enum] : []))
    const types = unique(shape.flatMap(typesOf)).filter(t => t !== 'null')
    if (lists.length === 0) return types.length === 1 && types[0] === 'boolean' ? ['true', 'false'] : []
    return lists[0]!
      .filter(v => lists.every(l => l.includes(v)))
      .filter(v => v !== null && v !== '' && typeof v !== 'object')
      .map(String)
  })
  return unique(out)
}

// hintsOf returns values that a schema suggests without requiring them.
export const hintsOf = (shapes: readonly Shape[]): string[] =>
  unique(
    shapes
      .flat()
      .flatMap(s => [...(s.default === undefined ? [] : [s.default]), ...(s.examples ?? [])])
      .filter(v => v !== null && v !== '' && typeof v !== 'object')
      .map(String),
  )

export type Kind = 'map' | 'list' | 'number' | 'boolean' | 'text' | 'choice'

// kindsOf returns the possible kinds of a value; without types it may be anything, and is treated
// as a string.
export function kindsOf(shapes: readonly Shape[]): Kind[] {
  const out = shapes.flatMap((shape): Kind[] => {
    if (shape.some(s => s.enum || s.const !== undefined)) return ['choice']
    const types = shape.map(typesOf).filter(t => t.length > 0)
    const both = types.length === 0 ? [] : types[0]!.filter(t => types.every(l => l.includes(t)))
    const kinds = both.flatMap((t): Kind[] =>
      t === 'object'
        ? ['map']
        : t === 'array'
          ? ['list']
          : t === 'string'
            ? ['text']
            : t === 'boolean'
              ? ['boolean']
              : t === 'null'
                ? []
                : ['number'],
    )
    if (kinds.includes('text')) return ['text']
    return kinds.length > 0 ? kinds : shape.some(s => s.properties) ? ['map'] : ['text']
  })
  return unique(out)
}

export type KeyFact = {key: string; required: boolean; rank: number}

const plainKey = (key: string): string => key.replaceAll('_', '').toLowerCase()

// keysOf returns the keys that can be added to a map. Keys without an effect, and other spellings
// of existing keys, are left out.
export function keysOf(shapes: readonly Shape[], map: Node): KeyFact[] {
  const there = map.entries.filter(e => !e.key.marked).map(e => e.key.text)
  const alike = new Set(there.map(plainKey))
  const found = new Map<string, KeyFact>()
  for (const shape of shapes) {
    const required = new Set(shape.flatMap(s => s.required ?? []))
    for (const key of unique(shape.flatMap(s => Object.keys(s.properties ?? {})))) {
      if (alike.has(plainKey(key)) || !shape.every(s => allows(s, key))) continue
      const schemas = shape.flatMap(s => (s.properties && Object.hasOwn(s.properties, key) ? [s.properties[key]!] : []))
      const said = schemas.filter((s): s is SchemaObject => typeof s === 'object')
      if (schemas.includes(false) || said.some(s => s.deprecated)) continue
      const other = said.map(s => /^another name of (\w+)/.exec(s.description ?? '')?.[1]).find(n => n !== undefined)
      if (other && there.includes(other)) continue
      // Keys without any description are data of graphical editors.
      const known = said.some(s => s.description || s.$ref || s.enum || s.properties)
      const rank = other ? -1 : required.has(key) ? 3 : key.startsWith('$') ? -2 : known ? 1 : 0
      const was = found.get(key)
      found.set(key, {
        key,
        required: (was?.required ?? true) && required.has(key),
        rank: Math.max(rank, was?.rank ?? -2),
      })
    }
  }
  return [...found.values()].sort(
    (a, b) => b.rank - a.rank || Number(b.key === 'type') - Number(a.key === 'type') || (a.key < b.key ? -1 : 1),
  )
}

// allows reports whether a schema lets a map have a key.
function allows(s: SchemaObject, key: string): boolean {
  const {propertyNames: names} = s
  if (typeof names === 'object' && names.enum && !names.enum.includes(key)) return false
  if (s.additionalProperties !== false || (s.properties && Object.hasOwn(s.properties, key))) return true
  return Object.keys(s.patternProperties ?? {}).some(p => new RegExp(p, 'u').test(key))
}
