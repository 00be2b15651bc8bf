import {typesOf as allTypesOf, within as at, resolved as resolvedIn} from '../lib/json_schema.ts'
import {isRecord} from '../lib/record.ts'

// This module derives the forms of the editor from the published schema of a format.

export type FormKind =
  | 'text'
  | 'long'
  | 'number'
  | 'yes'
  | 'choice'
  | 'words'
  | 'json'
  | 'any'
  | 'group'
  | 'list'
  | 'map'
  | 'either'

// Form describes how a value is edited. group is an object with its own keys; map is an object with
// user-defined names; either is one of several forms; json is edited as JSON. holds is the kind of
// expressions that its strings hold, as named in the schema, or '' for none.
export type Form = {kind: FormKind; choices: string[]; schema: Schema; holds: string}

// Field is a key of an object as a form shows it. names are the spellings of the key; the first one
// is written.
export type Field = Form & {key: string; names: string[]; hint: string; required: boolean; deprecated: boolean}

export type Schema = Readonly<Record<string, unknown>>

// Keys whose text can have several lines.
const long = new Set([
  'systemPrompt',
  'userPrompt',
  'prompt',
  'message',
  'welcomeMessage',
  'initialInput',
  'input',
  'description',
  'turnInstruction',
  'instruction',
])

// Keys whose objects are JSON Schemas.
const schemas = new Set(['schema', 'output_schema', 'items', 'properties', 'additionalProperties'])

const camel = (key: string): string => key.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase())

// fieldsOf returns the fields for the keys of an object that have a meaning; keys that editors keep
// for themselves have no form.
export function fieldsOf(schema: unknown, root: unknown): Field[] {
  const s = resolved(schema, root)
  const required = Array.isArray(s.required) ? s.required : []
  const all = isRecord(s.properties) ? s.properties : {}
  const keys = Object.keys(all).filter(k => isRecord(all[k]) && Object.keys(all[k]).length > 0)
  return keys.flatMap(key => {
    const v = all[key]
    // Two spellings of a key share one field.
    const names = keys
      .filter(k => camel(k) === camel(key))
      .sort((a, b) => Number(a.includes('_')) - Number(b.includes('_')))
    if (names[0] !== key) return []
    const hint = at(v, 'description')
    return [
      {
        key,
        names,
        hint: typeof hint === 'string' ? hint.replace(/: see \[[^\]]*\]\([^)]*\)/, '') : '',
        required: names.some(n => required.includes(n)),
        deprecated: at(v, 'deprecated') === true,
        ...formOf(key, v, root),
      },
    ]
  })
}

// formOf returns the form of a value according to its schema.
export function formOf(key: string, schema: unknown, root: unknown): Form {
  const s = resolved(schema, root)
  const holds = s['x-expressions']
  const form = (kind: FormKind, choices: string[] = []): Form => ({
    kind,
    choices,
    schema: s,
    holds: typeof holds === 'string' ? holds : '',
  })
  if (Array.isArray(s.enum)) return form('choice', s.enum.filter(x => x !== null && x !== '').map(String))
  if (Array.isArray(s.anyOf) && s.type === undefined) {
    const ways = waysOf(key, s, root)
    return ways.length === 1 ? ways[0]! : form('either')
  }
  const types = typesOf(s)
  if (types.length === 0) return form('any')
  const inner = types.filter(t => t === 'object' || t === 'array')
  if (inner.length > 0 && types.length > 1) return form('either')
  if (inner[0] === 'array') {
    const items = resolved(s.items, root)
    return form(
      typesOf(items).length > 0 && typesOf(items).every(t => t !== 'object' && t !== 'array') && !items.enum
        ? 'words'
        : 'list',
    )
  }
  if (inner[0] === 'object') {
    if (isRecord(s.properties) && Object.keys(s.properties).length > 0) return form('group')
    return form(schemas.has(key) ? 'json' : 'map')
  }
  if (types.includes('string')) return form(long.has(key) ? 'long' : 'text')
  return form(types.includes('boolean') ? 'yes' : 'number')
}

const typesOf = (s: Schema): string[] => allTypesOf(s).filter(t => t !== 'null')

// waysOf returns the forms of a value that has one of several.
export function waysOf(key: string, s: Schema, root: unknown): Form[] {
  if (Array.isArray(s.anyOf) && s.type === undefined)
    return s.anyOf.filter(w => at(w, 'type') !== 'null').map(w => formOf(key, w, root))
  const types = typesOf(s)
  const plain = types.filter(t => t !== 'object' && t !== 'array')
  const parts = [...(plain.length > 0 ? [plain] : []), ...types.filter(t => !plain.includes(t)).map(t => [t])]
  return parts.map(type => formOf(key, {...s, type}, root))
}

// itemOf returns the form of the items of a list, or of the values of a map.
export function itemOf(f: Form, root: unknown): Form {
  const item = formOf('', f.kind === 'list' ? f.schema.items : f.schema.additionalProperties, root)
  return {...item, holds: item.holds || f.holds}
}

// isOpen reports whether an object may have keys that its schema does not name.
export const isOpen = (f: Form): boolean => f.schema.additionalProperties !== false

// isFor reports whether a form can show a value.
export function isFor(f: Form, v: unknown): boolean {
  switch (f.kind) {
    case 'group':
    case 'map':
      return isRecord(v)
    case 'list':
      return Array.isArray(v)
    case 'words':
      return Array.isArray(v) ? v.every(x => typeof x === 'string') : typeof v === 'string'
    case 'choice':
      return f.choices.includes(String(v))
    case 'yes':
      return typeof v === 'boolean'
    case 'number':
      return typeof v === 'number'
    case 'either':
    case 'any':
    case 'json':
      return true
    default:
      return typeof v === 'string' || typeof v === 'number' || typeof v === 'boolean'
  }
}

// initialOf returns the initial value of a form: an object has its required keys.
export function initialOf(f: Form, root: unknown): unknown {
  switch (f.kind) {
    case 'group':
      return Object.fromEntries(
        fieldsOf(f.schema, root)
          .filter(x => x.required)
          .map(x => [x.key, initialOf(x, root)]),
      )
    case 'map':
    case 'json':
      return {}
    case 'list':
    case 'words':
      return []
    case 'choice':
      return f.choices[0] ?? ''
    case 'yes':
      return true
    case 'number':
      return typeof f.schema.minimum === 'number' ? f.schema.minimum : 0
    case 'either':
      return initialOf(waysOf('', f.schema, root)[0]!, root)
    default:
      return ''
  }
}

function resolved(schema: unknown, root: unknown): Schema {
  const s = resolvedIn<Schema>(schema, root)
  return typeof s === 'boolean' ? {} : s
}

// nodeSchema returns the schema of the data of a node type, according to the rules of a published
// schema.
export function nodeSchema(root: unknown, type: string): unknown {
  const rules = at(root, '$defs', 'node', 'allOf')
  for (const rule of Array.isArray(rules) ? rules : []) {
    const is = at(rule, 'if', 'properties', 'type')
    const types = at(is, 'enum')
    if (at(is, 'const') !== type && !(Array.isArray(types) && types.includes(type))) continue
    return at(rule, 'then', 'properties', 'data') ?? at(rule, 'then', 'properties', 'config')
  }
  return undefined
}

// nodeFields returns the fields of the data of a node type.
export const nodeFields = (root: unknown, type: string): Field[] => fieldsOf(nodeSchema(root, type), root)

// drawnKeys are the keys of a document that are drawn, or have a form of their own.
export const drawnKeys: readonly string[] = ['nodes', 'edges', 'connections', 'branches']

// graphFields returns the fields of a document, or of a branch, that belong to no node.
export function graphFields(root: unknown, branch: boolean): Field[] {
  return fieldsOf(branch ? at(root, '$defs', 'branch') : root, root).filter(
    f => !drawnKeys.includes(f.key) && !(branch && f.key === 'id'),
  )
}

// agentFields returns the fields of an agent of a rounds document.
export const agentFields = (root: unknown): Field[] =>
  fieldsOf(at(root, 'properties', 'agents', 'items'), root).filter(f => f.key !== 'id')

// nameFields returns the fields of a node apart from its id, type and data.
export function nameFields(root: unknown): Field[] {
  const own = new Set(['id', 'type', 'data', 'config', 'parameters'])
  return fieldsOf(at(root, '$defs', 'node'), root).filter(f => !own.has(f.key))
}

// edgeEnds are the keys of an edge that specify its source and target.
export const edgeEnds: readonly string[] = ['source', 'target', 'from', 'to', 'sourceHandle', 'targetHandle']

// edgeFields returns the fields of an edge apart from its ends.
export const edgeFields = (root: unknown): Field[] =>
  fieldsOf(at(root, '$defs', 'edge') ?? at(root, '$defs', 'connection'), root).filter(f => !edgeEnds.includes(f.key))

// These fields are shown first; all others are under "more" unless they are set.
const first: Record<string, string[]> = {
  start: ['initialInput'],
  agent: ['agentName', 'model', 'systemPrompt', 'userPrompt', 'tools', 'reasoningEffort'],
  if: ['conditions'],
  approval: ['prompt', 'deadline'],
  tool: ['tool', 'args'],
  workflow: ['workflow', 'input'],
  set: ['values'],
  ask: ['prompt', 'options', 'schema'],
  canvas: ['name', 'description', 'inputs', 'output', 'schedule'],
  rounds: [
    'name',
    'description',
    'maxRounds',
    'turnInstruction',
    'context',
    'executionMode',
    'schedule',
    'agents',
    'inputs',
  ],
  branch: ['name', 'maxRounds', 'turnInstruction', 'context', 'executionMode', 'schedule', 'timeZone'],
  documentAgent: ['name', 'model', 'systemPrompt', 'tools', 'description'],
}

// Sorted holds the fields in the order of a form: the fields that are shown first or set, and the
// others.
export type Sorted = {shown: Field[]; more: Field[]}

// sorted sorts the fields of a form. Fields without an effect are included only if they are set.
export function sorted(form: string, fields: readonly Field[], data: Readonly<Record<string, unknown>>): Sorted {
  const head = first[form] ?? []
  const by = (f: Field) => (head.includes(f.key) ? head.indexOf(f.key) : 100)
  const set = (f: Field) => f.names.some(n => data[n] !== undefined)
  const shown = fields.filter(f => head.includes(f.key) || set(f)).sort((a, b) => by(a) - by(b))
  return {shown, more: fields.filter(f => !shown.includes(f) && !f.deprecated)}
}
