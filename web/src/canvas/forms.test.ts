import {readFileSync} from 'node:fs'
import {createElement} from 'react'
import {renderToStaticMarkup} from 'react-dom/server'
import {describe, expect, it, vi} from 'vitest'
import {DocumentModel} from '../edit/model.ts'
import {AgentForm} from './AgentForm.tsx'
import {unread} from './agents.ts'
import {type Format, kindsOf, readCanvas} from './document.ts'
import {EdgeForm, GraphForm} from './GraphForm.tsx'
import {graphsOf, shapeOf} from './graphs.ts'
import {Inspector} from './Inspector.tsx'
import {fieldsOf, graphFields, nodeSchema} from './schema.ts'
import type {Editing} from './use_editing.ts'

vi.mock('../api/client.ts', () => ({ApiError: class extends Error {}, ask: vi.fn(), client: {}}))

type Schema = Record<string, unknown>

const schemaOf = (f: Format): Schema => JSON.parse(readFileSync(`../docs/schema/${f}.json`, 'utf8')) as Schema
const isObject = (v: unknown): v is Schema => v !== null && typeof v === 'object' && !Array.isArray(v)
const at = (v: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((x, k) => (isObject(x) ? x[k] : undefined), v)

const resolved = (s: unknown, root: unknown): Schema => {
  const ref = at(s, '$ref')
  return typeof ref === 'string' ? resolved(at(root, ...ref.slice(2).split('/')), root) : isObject(s) ? s : {}
}

// samples returns values that a schema allows, so that each key of each alternative is in one of
// them. Other spellings of a key, and keys without an effect, are left out.
function samples(schema: unknown, root: unknown, depth = 0): unknown[] {
  const s = resolved(schema, root)
  if (depth > 6) return ['x']
  if (Array.isArray(s.enum)) return [s.enum.find(x => typeof x === 'string' && x !== '')]
  if (Array.isArray(s.anyOf) && s.type === undefined)
    return s.anyOf.filter(w => at(w, 'type') !== 'null').flatMap(w => samples(w, root, depth + 1))
  const types = (Array.isArray(s.type) ? s.type : [s.type]).filter(t => t !== 'null' && t !== undefined)
  if (types.length === 0) return ['x']
  return types.flatMap((t): unknown[] => {
    if (t === 'array') return samples(s.items ?? {}, root, depth + 1).map(v => [v])
    if (t !== 'object') return [t === 'boolean' ? true : t === 'string' ? 'x' : 3]
    if (isObject(s.properties) && Object.keys(s.properties).length > 0) return objects(s, root, depth)
    return isObject(s.additionalProperties)
      ? samples(s.additionalProperties, root, depth + 1).map(v => ({x: v}))
      : [{x: 'y'}]
  })
}

const camel = (k: string) => k.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase())

// keysOf returns the keys of an object that have a meaning, each in one spelling.
function keysOf(s: Schema): string[] {
  const all = Object.entries(s.properties as Schema).filter(
    ([, v]) => isObject(v) && Object.keys(v).length > 0 && v.deprecated !== true,
  )
  return all.map(([k]) => k).filter((k, _, keys) => camel(k) === k || !keys.includes(camel(k)))
}

function objects(s: Schema, root: unknown, depth: number): Schema[] {
  const per = keysOf(s).map(k => [k, samples((s.properties as Schema)[k], root, depth + 1)] as const)
  const most = Math.max(...per.map(([, v]) => v.length))
  return Array.from({length: most}, (_, i) =>
    Object.fromEntries(per.map(([k, v]) => [k, v[Math.min(i, v.length - 1)]])),
  )
}

// wanted returns the keys of a value, and of its nested values, that must have a field. The
// contents of a JSON Schema, or of a value of any form, are part of that value.
function wanted(v: unknown, schema: unknown, root: unknown, depth = 0): string[] {
  const s = resolved(schema, root)
  if (depth > 6) return []
  if (Array.isArray(s.anyOf) && s.type === undefined)
    return s.anyOf.flatMap(w => (fits(v, resolved(w, root)) ? wanted(v, w, root, depth + 1) : []))
  if (Array.isArray(v)) return v.flatMap(x => wanted(x, s.items, root, depth + 1))
  if (!isObject(v)) return []
  if (!isObject(s.properties) || Object.keys(s.properties).length === 0)
    return isObject(s.additionalProperties)
      ? Object.values(v).flatMap(x => wanted(x, s.additionalProperties, root, depth + 1))
      : []
  const properties = s.properties
  return Object.entries(v).flatMap(([k, x]) => [k, ...wanted(x, properties[k], root, depth + 1)])
}

function fits(v: unknown, s: Schema): boolean {
  const types = Array.isArray(s.type) ? s.type : [s.type]
  if (Array.isArray(s.enum)) return s.enum.includes(v)
  if (Array.isArray(v)) return types.includes('array')
  if (isObject(v)) return types.includes('object')
  return types.includes(typeof v === 'number' ? 'number' : typeof v)
}

function editingOf(text: string, format: Format, branch = ''): Editing {
  const graphs = graphsOf(text, format)
  const graph = graphs.find(g => g.key === branch)!
  const c = readCanvas(text, shapeOf(format, graph))
  if ('why' in c) throw new Error(c.why)
  const none = () => {}
  return {
    model: new DocumentModel(text),
    c,
    graphs,
    graph,
    readOnly: false,
    places: new Map(),
    full: {},
    nodes: new Set(),
    edges: new Set(),
    current: null,
    refused: null,
    select: none,
    place: none,
    act: () => true,
    refuse: none,
  }
}

const none = () => {}
const shared = {
  catalog: unread,
  problems: [],
  openText: none,
  openEdge: none,
  close: none,
  connect: none,
  change: () => true,
  show: none,
}

// shows checks that a form has a field for each key of a value.
function shows(html: string, keys: readonly string[], what: string) {
  const there = new Set([...html.matchAll(/data-key="([^"]*)"/g)].map(m => m[1]))
  expect(
    [...new Set(keys)].filter(k => !there.has(k)),
    `${what}: keys without a field`,
  ).toEqual([])
}

describe.each(['canvas', 'rounds'] as const)('forms of %s documents', format => {
  const root = schemaOf(format)
  const dataKey = format === 'canvas' ? 'data' : 'config'
  const links = format === 'canvas' ? 'connections' : 'edges'
  it.each([...kindsOf(format)])('have a field for each key of %s nodes', kind => {
    const schema = nodeSchema(root, kind) ?? {type: 'object', properties: {agentId: {type: 'string'}}}
    const values = samples(schema, root)
    expect(values.length).toBeGreaterThan(0)
    for (const data of values as Schema[]) {
      const e = editingOf(
        JSON.stringify({nodes: [{id: 'n', type: kind, name: 'x', [dataKey]: data}], [links]: []}),
        format,
      )
      const html = renderToStaticMarkup(
        createElement(Inspector, {...shared, editing: e, node: e.c.nodes[0]!, schema: root}),
      )
      shows(html, [...wanted(data, schema, root), ...(format === 'rounds' ? ['name'] : [])], kind)
    }
  })

  it('have a field for each key of the document', () => {
    const drawn = ['nodes', 'edges', 'connections', 'branches']
    for (const doc of objects(root, root, 0)) {
      for (const k of drawn) delete doc[k]
      const e = editingOf(JSON.stringify({...doc, nodes: [], [links]: []}), format)
      const html = renderToStaticMarkup(createElement(GraphForm, {...shared, editing: e, schema: root}))
      shows(html, wanted(doc, root, root), 'document')
    }
  })

  it('have a field for each key of the document that is not set', () => {
    const e = editingOf(JSON.stringify({nodes: [], [links]: []}), format)
    const html = renderToStaticMarkup(createElement(GraphForm, {...shared, editing: e, schema: root}))
    shows(
      html,
      keysOf(root).filter(k => !['nodes', 'edges', 'connections', 'branches'].includes(k)),
      'document',
    )
  })

  it('have a field for each key of an edge', () => {
    const ends = ['source', 'target', 'from', 'to', 'sourceHandle', 'targetHandle']
    const schema = at(root, '$defs', format === 'canvas' ? 'connection' : 'edge') as Schema
    const from = format === 'canvas' ? {source: 'n', target: 'n'} : {from: 'n', to: 'n'}
    const e = editingOf(JSON.stringify({nodes: [{id: 'n', type: 'agent'}], [links]: [from]}), format)
    const html = renderToStaticMarkup(
      createElement(EdgeForm, {editing: e, edge: e.c.edges[0]!, schema: root, close: none}),
    )
    shows(
      html,
      keysOf(schema).filter(k => !ends.includes(k)),
      'edge',
    )
  })
})

describe('forms of rounds documents', () => {
  const root = schemaOf('rounds')
  it('have a field for each key of a branch', () => {
    const schema = at(root, '$defs', 'branch') as Schema
    for (const b of objects(schema, root, 0)) {
      for (const k of ['nodes', 'edges', 'id']) delete b[k]
      const e = editingOf(JSON.stringify({branches: [{...b, id: 'b', nodes: [], edges: []}]}), 'rounds', 'b')
      shows(
        renderToStaticMarkup(createElement(GraphForm, {...shared, editing: e, schema: root})),
        wanted(b, schema, root),
        'branch',
      )
    }
  })
  it('say of a name whose it is', () => {
    const hint = (branch: boolean) => graphFields(root, branch).find(f => f.key === 'name')?.hint
    expect([hint(false), hint(true)]).toEqual([
      'the name of the workflow',
      'the name of the branch that people see; the id without it',
    ])
  })
  it('have a field for each key of an agent', () => {
    const schema = at(root, 'properties', 'agents', 'items') as Schema
    for (const a of objects(schema, root, 0)) {
      delete a.id
      const e = editingOf(JSON.stringify({agents: [{...a, id: 'a'}], nodes: [], edges: []}), 'rounds')
      shows(
        renderToStaticMarkup(createElement(AgentForm, {editing: e, index: 0, schema: root})),
        wanted(a, schema, root),
        'agent',
      )
    }
  })
  it('miss no key of a value that has none of them', () => {
    expect(
      fieldsOf({properties: {a_b: {type: 'string'}, aB: {type: 'string'}, kept: {}}}, {}).map(f => f.names),
    ).toEqual([['aB', 'a_b']])
  })
})

describe('the operator of a condition', () => {
  it.each([
    ['<', '<option value="&lt;" selected="">'],
    ['toString', '<option value="toString" selected="">'],
    ['less', '<option value="less" selected="">'],
    ['', '<option value="equal" selected="">'],
  ])('%s is the option that is selected', (operator, want) => {
    const data = {conditions: [{operator, value: '1'}]}
    const e = editingOf(JSON.stringify({nodes: [{id: 'n', type: 'if', data}], connections: []}), 'canvas')
    const html = renderToStaticMarkup(
      createElement(Inspector, {...shared, editing: e, node: e.c.nodes[0]!, schema: schemaOf('canvas')}),
    )
    expect([...html.matchAll(/<option[^>]*selected[^>]*>/g)].map(m => m[0])).toContain(want)
  })
})
