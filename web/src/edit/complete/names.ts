import type {Place} from './place.ts'
import {siblingOf} from './place.ts'
import {type Node, textOf, valueOf} from './tree.ts'
import type {Words} from './words.ts'

// Names are the names of the parts of a document.
export type Names = {nodes: string[]; steps: string[]; agents: string[]; models: string[]; inputs: string[]}

// namesOf returns the names in a document. around leads to a position in it: in a document with
// branches, the nodes are those of its branch.
export function namesOf(root: Node, format: string, around: readonly {node: Node}[]): Names {
  const graph = around.findLast(s => s.node.kind === 'map' && valueOf(s.node, 'nodes')?.kind === 'list')?.node ?? root
  const nested = valueOf(root, 'workflow')
  const nodes = itemsOf(valueOf(graph, 'nodes') ?? (nested && valueOf(nested, 'nodes'))).map(n => textOf(n, 'id'))
  const agents = valueOf(root, 'agents')
  const models = valueOf(root, 'models')
  const inputs = valueOf(graph, 'inputs') ?? valueOf(root, 'inputs')
  return {
    nodes: clean(nodes),
    steps: clean(format === 'steps' ? stepsOf(root) : nodes),
    agents: clean(
      agents?.kind === 'map' ? keysOf(agents) : itemsOf(agents).map(a => textOf(a, 'id') || textOf(a, 'name')),
    ),
    models: clean(models?.kind === 'map' ? keysOf(models) : []),
    inputs: clean(inputs?.kind === 'map' ? keysOf(inputs) : []),
  }
}

const clean = (names: string[]): string[] => [...new Set(names.filter(n => n !== ''))]

const keysOf = (map: Node): string[] => map.entries.filter(e => e.colon && !e.key.marked).map(e => e.key.text)

const itemsOf = (list: Node | null): Node[] => (list?.kind === 'list' ? list.items.filter(n => n.kind === 'map') : [])

// stepsOf returns the ids of all steps: an agent step without an id has the id of its agent, a tool
// step without one has the name of its tool.
function stepsOf(root: Node): string[] {
  const out: string[] = []
  const walk = (n: Node | null) => {
    if (n?.kind === 'list') for (const item of n.items) walk(item)
    if (n?.kind !== 'map') return
    if (textOf(n, 'type')) out.push(textOf(n, 'id') || textOf(n, 'name') || textOf(n, 'tool'))
    for (const key of ['workflow', 'steps', 'true', 'false', 'cases', 'else', 'reject', 'limit']) walk(valueOf(n, key))
  }
  walk(root)
  return out
}

const nodeKeys = /^(source|target|from|to|(source|target|entrypoint)_?[nN]ode_?[iI]d|human_?[hH]andoff)$/
const agentKeys = /^agent_?[iI]d$/
const jumpKeys = ['goto', 'true', 'false', 'else', 'limit', 'reject']

// namedAt returns the names that are allowed as a value.
export function namedAt(p: Place, format: string, names: Names, catalog: readonly string[]): string[] {
  const to = p.steps.at(-1)?.to
  const key = typeof to === 'string' ? to : p.steps.at(-2)?.to
  if (typeof key !== 'string') return []
  const all = [...new Set([...names.agents, ...catalog])]
  if (typeof to === 'number')
    return ['handoffs', 'sub_agents', 'subAgents'].includes(key) ? (format === 'canvas' ? names.nodes : all) : []
  if (format === 'steps') {
    const ofCase = to === 'steps' && p.steps.at(-3)?.to === 'cases'
    if (jumpKeys.includes(key) || ofCase) return names.steps
    if (key === 'name') return siblingOf(p, 'type') === 'agent' ? all : []
    return key === 'model' ? names.models : []
  }
  if (agentKeys.test(key)) return all
  if (key === 'id' || !nodeKeys.test(key)) return []
  return names.nodes
}

// Expression holds the possible continuations of an expression. from is the start of the typed
// part.
export type Expression = {from: number; labels: string[]; about: string}

// expressionAt returns the possible continuations of an expression or a placeholder in a text, or
// null if there are none. before is the text before the cursor, and words are those of the format.
export function expressionAt(before: string, offset: number, names: Names, words: Words): Expression | null {
  const field = /\$steps\.[\w-]+\.(\w*)$/.exec(before)
  if (field) return {from: offset - field[1]!.length, labels: words.fields.map(f => f.name), about: 'what a step gave'}
  const step = /\$steps\.([\w-]*)$/.exec(before)
  if (step)
    return {
      from: offset - step[1]!.length,
      labels: names.steps.filter(s => /^[\w-]+$/.test(s)),
      about: 'a step of this document',
    }
  const input = /\$input\.(\w*)$/.exec(before)
  if (input) return {from: offset - input[1]!.length, labels: names.inputs, about: 'an input of this document'}
  const root = /\$(\w*)$/.exec(before)
  if (root)
    return {from: offset - root[0].length, labels: words.variables.map(v => `$${v.name}`), about: 'a value of the run'}
  const token = /\{\{\w*$/.exec(before)
  if (token)
    return {
      from: offset - token[0].length,
      labels: [
        ...words.tokens.map(t => t.name),
        ...names.steps.filter(s => /^[\w-]+$/.test(s)).map(s => `{{ $steps.${s}.output }}`),
      ],
      about: 'is replaced by a value of the run',
    }
  return null
}
