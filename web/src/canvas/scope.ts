import {type Path, valueOf} from '../doc/tree.ts'
import type {Kinds, Known, Scope} from '../edit/complete/suggest.ts'
import type {Words} from '../edit/complete/words.ts'
import {own} from '../lib/own.ts'
import {isRecord} from '../lib/record.ts'
import {nodeAt} from './bound.ts'
import {agentOf, type Canvas, type CanvasNode, parentOf} from './document.ts'

const kindsOf = (type: unknown): Kinds => {
  const all = (Array.isArray(type) ? type : [type])
    .filter(t => typeof t === 'string')
    .map(t => (t === 'integer' ? 'number' : t === 'file' ? 'object' : t))
  return all.length > 0 ? all : null
}

// inputsOf returns the inputs that the graph declares. If it declares any, even {}, its prompts
// hold expressions. undefined means that it declares none.
const inputsOf = (c: Canvas): unknown => at(c, [...c.shape.graph, 'inputs'])

function at(c: Canvas, path: Path): unknown {
  const n = nodeAt(c, path)
  return n ? valueOf(n) : undefined
}

const aboutOf = (all: Words['fields'], name: string): string => all.find(w => w.name === name)?.doc ?? ''

// inputs returns the references to the input of a run.
function inputs(c: Canvas, words: Words): Known[] {
  const all = inputsOf(c)
  const names = Object.entries(isRecord(all) ? all : {})
  const out: Known[] = [
    {text: '$input', kinds: names.length > 0 ? ['object'] : null, about: aboutOf(words.variables, 'input')},
  ]
  for (const [name, v] of names) {
    if (!/^[A-Za-z_]\w*$/.test(name)) continue
    const form = isRecord(v) ? v : {type: v ?? 'string'}
    out.push({
      text: `$input.${name}`,
      kinds: kindsOf(form.type ?? (form.enum ? undefined : 'string')),
      about: String(form.title ?? form.description ?? 'an input'),
    })
  }
  return out
}

// earlier returns the nodes that may have run before a node, the nearest first; nodes of a loop
// that are also behind it come last.
function earlier(c: Canvas, node: CanvasNode): CanvasNode[] {
  const edges = c.edges.filter(e => !e.sub)
  // Without edges, the nodes of a rounds graph run in their order (S1-16).
  const links =
    c.shape.format === 'rounds' && edges.length === 0
      ? c.nodes.slice(1).map((n, i) => ({from: c.nodes[i]!.id, to: n.id}))
      : edges
  const walk = (from: 'from' | 'to', to: 'from' | 'to'): string[] => {
    const next = new Map<string, string[]>()
    for (const l of links) next.set(l[from], [...(next.get(l[from]) ?? []), l[to]])
    const seen = new Set(next.get(node.id))
    // The set grows during the iteration, which also visits the new elements.
    for (const id of seen) for (const x of next.get(id) ?? []) seen.add(x)
    return [...seen]
  }
  const later = new Set(walk('from', 'to'))
  const all = walk('to', 'from')
  return [...all.filter(id => !later.has(id)), ...all.filter(id => later.has(id))].flatMap(id => c.byID.get(id) ?? [])
}

const plain = /^[\p{L}\p{Nd}_](?:[\p{L}\p{Nd}_-]*[\p{L}\p{Nd}_])?$/u

// memberOf returns a name as it is written after a reference, or '' if it cannot be written in
// every field.
const memberOf = (name: string): string =>
  plain.test(name) ? `.${name}` : /^[^'"\\[\]{}\p{C}]+$/u.test(name) ? `['${name}']` : ''

// outputSchema returns the schema of an agent's output, null if the output is a string, or
// undefined if the agent is unknown.
function outputSchema(c: Canvas, n: CanvasNode): unknown {
  const own = c.shape.format === 'rounds' ? c.agents.find(a => a.id === agentOf(n)) : n
  if (!own) return undefined
  const data = c.shape.format === 'rounds' ? at(c, ['agents', own.index]) : n.data
  const out = isRecord(data) ? (data.structuredOutput ?? data.structured_output) : undefined
  return isRecord(out) && isRecord(out.schema) ? out.schema : null
}

// outputs returns the references to the output of a node.
function outputs(c: Canvas, n: CanvasNode, words: Words): Known[] {
  const id = memberOf(n.id)
  if (id === '' || n.kind === null || n.kind === 'start' || n.kind === 'if' || parentOf(c, n.id) !== null) return []
  const known = (field: string, kinds: Kinds = null): Known => ({
    text: `$steps${id}.${field}`,
    kinds,
    about: `${aboutOf(words.fields, /^\w+/.exec(field)![0])}: ${n.name || n.id}`,
  })
  const members = (of: unknown, typed: (v: unknown) => Kinds): Known[] =>
    Object.entries(isRecord(of) ? of : {}).flatMap(([name, v]) =>
      memberOf(name) ? known(`output${memberOf(name)}`, typed(v)) : [],
    )
  if (n.kind === 'approval') return [known('decision'), known('note')]
  if (n.kind === 'agent') {
    const schema = outputSchema(c, n)
    if (!isRecord(schema)) return [known('output', schema === null ? ['string'] : null)]
    return [known('output', kindsOf(schema.type)), ...members(schema.properties, v => kindsOf(isRecord(v) && v.type))]
  }
  const values = n.kind === 'set' ? members(n.data.values, () => null) : []
  return [known('output'), ...values, ...(caught(c, n) ? [known('error.code'), known('error.message')] : [])]
}

// caught reports whether a run continues after a failure of a node.
const caught = (c: Canvas, n: CanvasNode): boolean => {
  const on = own(n.data, 'on_error')
  return on === 'continue' || isRecord(on) || c.edges.some(e => e.from === n.id && e.port === 'error')
}

// scopeOf returns what the strings of a field hold, according to its schema, or null if they hold
// no expressions. node is the node that the field belongs to, or null for the document or the
// branch; words are those of the format.
export function scopeOf(c: Canvas, node: CanvasNode | null, holds: string, words: Words): Scope | null {
  const typed = (inputsOf(c) ?? null) !== null
  // The prompts of a sub-agent are not read (S0-52).
  if (node && parentOf(c, node.id) !== null) return null
  const input = () => inputs(c, words)
  const all = (nodes: readonly CanvasNode[]): Known[] => [...nodes.flatMap(n => outputs(c, n, words)), ...input()]
  const before = (): Known[] => all(node ? earlier(c, node) : [])
  const scope = (read: Scope['read'], tokens: boolean, known: () => Known[]) => lazy({read, tokens, words}, known)
  if (holds === 'condition') return scope('condition', false, before)
  if (holds === 'input') return scope('value', false, input)
  if (holds === 'output') return scope('value', false, () => all(c.nodes))
  if (holds === 'value' || (typed && holds === 'prompt')) return scope('value', true, before)
  if (typed && holds === 'template') return scope('template', true, before)
  if (holds === 'prompt' || holds === 'template') return scope('token', true, () => [])
  return typed && holds === 'turn' ? scope('value', false, input) : null
}

// lazy computes the known references on first use: a form has many fields, and the user types into
// one of them.
function lazy(scope: Omit<Scope, 'known'>, find: () => Known[]): Scope {
  let known: Known[] | null = null
  return {
    ...scope,
    get known() {
      known ??= find()
      return known
    },
  }
}
