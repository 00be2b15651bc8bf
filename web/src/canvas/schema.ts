import {isRecord} from '../lib/record.ts'

// Field is a key of a node as a form shows it. kind json: it is asked for as JSON.
export type Field = {
  key: string
  hint: string
  kind: 'text' | 'long' | 'number' | 'yes' | 'choice' | 'words' | 'json' | 'any'
  choices: string[]
  required: boolean
}

type Schema = Record<string, unknown>

// Keys with texts of several lines.
const long = new Set(['systemPrompt', 'userPrompt', 'prompt', 'message', 'welcomeMessage', 'initialInput', 'input', 'description'])

// fieldsOf gives the fields of the keys of an object that mean something; those that editors keep for themselves have no form.
export function fieldsOf(schema: unknown, root: unknown): Field[] {
  const s = resolved(schema, root)
  const required = Array.isArray(s.required) ? s.required : []
  const all = isRecord(s.properties) ? s.properties : {}
  return Object.entries(all)
    .filter(([, v]) => isRecord(v) && Object.keys(v).length > 0)
    .map(([key, v]) => {
      const hint = isRecord(v) && typeof v.description === 'string' ? v.description : ''
      return {key, hint: hint.replace(/: see \[[^\]]*\]\([^)]*\)/, ''), required: required.includes(key), ...kindOf(key, resolved(v, root), root)}
    })
}

function kindOf(key: string, s: Schema, root: unknown): Pick<Field, 'kind' | 'choices'> {
  if (Array.isArray(s.enum)) return {kind: 'choice', choices: s.enum.filter(x => x !== null && x !== '').map(String)}
  const types = (Array.isArray(s.type) ? s.type : s.type === undefined ? [] : [s.type]).filter(t => t !== 'null')
  const plain = (kind: Field['kind']) => ({kind, choices: []})
  if (types.length === 0) return plain(s.anyOf || s.$ref ? 'json' : 'any')
  if (types.includes('array')) {
    const items = resolved(s.items, root)
    const of = Array.isArray(items.type) ? items.type : [items.type]
    return plain(of.includes('string') ? 'words' : 'json')
  }
  if (types.includes('object')) return plain('json')
  if (types.includes('string')) return plain(long.has(key) ? 'long' : 'text')
  if (types.includes('boolean')) return plain('yes')
  return plain('number')
}

function resolved(schema: unknown, root: unknown): Schema {
  let s = isRecord(schema) ? schema : {}
  for (let i = 0; i < 10 && typeof s.$ref === 'string'; i++) {
    const path = s.$ref.replace(/^#\//, '').split('/')
    const next = path.reduce<unknown>((at, k) => (isRecord(at) ? at[k] : undefined), root)
    if (!isRecord(next)) return {}
    s = next
  }
  return s
}

// nodeFields gives the fields of the data of a type of node, by the rules of a published schema.
export function nodeFields(root: unknown, type: string): Field[] {
  const at = (v: unknown, ...path: string[]): unknown => path.reduce<unknown>((x, k) => (isRecord(x) ? x[k] : undefined), v)
  const rules = at(root, '$defs', 'node', 'allOf')
  for (const rule of Array.isArray(rules) ? rules : []) {
    const types = at(rule, 'if', 'properties', 'type', 'enum')
    if (!Array.isArray(types) || !types.includes(type)) continue
    return fieldsOf(at(rule, 'then', 'properties', 'data') ?? at(rule, 'then', 'properties', 'config'), root)
  }
  return []
}

// What is asked for first; all else is under more, unless it is set.
const first: Record<string, string[]> = {
  start: ['initialInput'],
  agent: ['agentName', 'model', 'systemPrompt', 'userPrompt', 'tools', 'reasoningEffort'],
  if: ['conditions'],
  approval: ['prompt', 'deadline'],
  tool: ['tool', 'args'],
  workflow: ['workflow', 'input'],
  set: ['values'],
  ask: ['prompt', 'options', 'schema'],
}

// sorted gives the fields in the order of a form, those that are asked for first and those that are set before the others.
export function sorted(kind: string, fields: readonly Field[], data: Readonly<Record<string, unknown>>): {shown: Field[]; more: Field[]} {
  const head = first[kind] ?? []
  const by = (f: Field) => (head.includes(f.key) ? head.indexOf(f.key) : 100)
  const shown = fields.filter(f => head.includes(f.key) || data[f.key] !== undefined).sort((a, b) => by(a) - by(b))
  return {shown, more: fields.filter(f => !shown.includes(f))}
}
