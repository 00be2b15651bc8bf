import type {Schemas} from '../api/client.ts'
import {curveOf} from '../lib/curve.ts'
import type {Sub} from './inside.ts'
import {layoutOf} from './layout.ts'
import type {Definition, NodeState, NodeStatus, RunView, Step} from './types.ts'
import {nodeWord, titleOf} from './words.ts'

export type Graph = Schemas['Graph']

export type DrawnNode = {
  id: string
  node: string
  agent: string
  flow: string
  kind: string
  title: string
  word: string
  detail: string
  hidden: boolean
  x: number
  y: number
  width: number
  height: number
}

export type DrawnEdge = {
  id: string
  from: string
  to: string
  kind: string
  label: string
  labelX: number
  labelY: number
  back: boolean
  fails: boolean
  // path is the route as an SVG path; '' means that there is none.
  path: string
  // edges are the paths of the graph that the line represents, each a list of edges.
  edges: number[][]
}

export type Drawn = {nodes: DrawnNode[]; edges: DrawnEdge[]; width: number; height: number}

// The server measures text for its drawings; boxes of the page also have a state and numbers.
const wider = 1.5
const higher = 1.2

const at = (n: number, by: number): number => Math.round(n * by * 10) / 10

// drawnOf converts positions and routes from the server.
export function drawnOf(g: Graph): Drawn {
  return {
    width: at(g.width, wider),
    height: at(g.height, higher),
    nodes: (g.nodes ?? []).map(n => ({
      id: n.id,
      node: n.node,
      agent: n.agent,
      flow: n.flow,
      kind: n.kind,
      title: n.title,
      word: n.word,
      detail: n.detail,
      hidden: n.hidden,
      x: at(n.x, wider),
      y: at(n.y, higher),
      width: at(n.width, wider),
      height: at(n.height, higher),
    })),
    edges: (g.edges ?? []).map(e => ({
      id: e.id,
      from: e.from,
      to: e.to,
      kind: e.kind,
      label: e.label,
      labelX: at(e.labelX, wider),
      labelY: at(e.labelY, higher),
      back: e.back,
      fails: e.fails,
      path: curveOf(
        (e.points ?? []).map(p => ({x: at(p.x, wider), y: at(p.y, higher)})),
        e.from === e.to,
      ),
      edges: e.edge === null ? [] : [[e.edge]],
    })),
  }
}

// plainOf returns a simple layout of a definition, for use if the server has no drawing.
export function plainOf(def: Definition): Drawn {
  const plain = layoutOf(def)
  const byID = new Map(def.nodes.map(n => [n.id, n]))
  return {
    width: Math.max(0, ...plain.boxes.map(b => b.x + b.width)),
    height: Math.max(0, ...plain.boxes.map(b => b.y + b.height)),
    nodes: plain.boxes.map(b => {
      const n = byID.get(b.id)!
      const word = nodeWord(n, def.format ?? '')
      return {
        ...b,
        node: n.id,
        agent: n.agent?.agent ?? '',
        flow: '',
        kind: n.kind,
        title: titleOf(n),
        word,
        detail: word,
        hidden: false,
      }
    }),
    edges: plain.links.map(l => ({
      id: `${l.from}\n${l.to}`,
      from: l.from,
      to: l.to,
      kind: 'run',
      label: l.label === l.to ? '' : l.label,
      labelX: 0,
      labelY: 0,
      back: l.back,
      fails: false,
      path: '',
      edges: l.paths,
    })),
  }
}

export type BoxState = {status: NodeStatus; runs: number; last: Step | undefined}

const ofStep: Record<string, NodeStatus> = {
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  skipped: 'skipped',
  waiting: 'waiting',
  running: 'running',
}

// statesOf returns the state of each box: for nodes of the graph from the view, for nodes in flows
// from the last step there, and for sub-agents from their last call.
export function statesOf(
  drawn: Drawn,
  def: Definition | null,
  view: RunView,
  subs: readonly Sub[],
): Map<string, BoxState> {
  const nodes = new Map<string, NodeState>(view.nodes.map(n => [n.node, n]))
  const flowAt = new Map<string, string>()
  if (def) prefixes(def, '', '', flowAt, 0)
  const last = new Map<string, Step>()
  const runs = new Map<string, number>()
  for (const s of view.steps) {
    const cut = s.node.lastIndexOf('/') + 1
    const flow = nodes.has(s.node) ? '' : flowAt.get(s.node.slice(0, cut))
    const key = flow === undefined ? `\n${s.node}` : `${flow}\n${flow === '' ? s.node : s.node.slice(cut)}`
    last.set(key, s)
    if (s.status !== 'skipped') runs.set(key, (runs.get(key) ?? 0) + 1)
  }
  const calls = new Map<string, Sub[]>()
  for (const s of subs) calls.set(s.agent, [...(calls.get(s.agent) ?? []), s])
  return new Map(
    drawn.nodes.map(b => {
      if (b.kind === 'subagent') {
        const own = calls.get(b.agent) ?? []
        return [
          b.id,
          {
            status: ofStep[own.at(-1)?.status ?? ''] ?? 'pending',
            runs: own.length,
            last: view.steps.find(s => s.seq === own.at(-1)?.step),
          },
        ]
      }
      const key = `${b.flow}\n${b.node}`
      const step = last.get(key)
      const state = b.flow === '' ? nodes.get(b.node) : undefined
      return [
        b.id,
        {
          status: state?.status ?? ofStep[step?.status ?? ''] ?? 'pending',
          runs: state?.runs ?? runs.get(key) ?? 0,
          last: step,
        },
      ]
    }),
  )
}

// prefixes returns the path of a sub-flow by the prefix of its node ids.
function prefixes(def: Definition, path: string, prefix: string, out: Map<string, string>, depth: number): void {
  for (const n of depth < 16 ? def.nodes : []) {
    const name = n.subflow?.flow
    const flow = name && def.flows?.[name]
    if (!flow) continue
    const inner = path ? `${path}/${name}` : name
    out.set(`${prefix}${n.id}/`, inner)
    prefixes(flow, inner, `${prefix}${n.id}/`, out, depth + 1)
  }
}

// Taken counts how often edges were taken, by the path of their flow and their index there; '' is
// the graph itself.
export type Taken = ReadonlyMap<string, Record<number, number>>

// takenOf sums the taken edges of all steps that run a flow.
export function takenOf(def: Definition | null, view: Pick<RunView, 'taken' | 'takenIn'>): Taken {
  const flowAt = new Map<string, string>()
  if (def) prefixes(def, '', '', flowAt, 0)
  const all = new Map<string, Record<number, number>>([['', view.taken]])
  for (const [path, taken] of Object.entries(view.takenIn)) {
    const flow = flowAt.get(path)
    if (flow === undefined) continue
    const sum = all.get(flow) ?? {}
    for (const [i, n] of Object.entries(taken)) sum[Number(i)] = (sum[Number(i)] ?? 0) + n
    all.set(flow, sum)
  }
  return all
}

// timesOf returns how often a line was taken. A line that is not an edge, such as the one to the
// body of a map, was taken if both its ends ran.
export function timesOf(
  e: DrawnEdge,
  drawn: Map<string, DrawnNode>,
  states: Map<string, BoxState>,
  taken: Taken,
): number {
  const here = taken.get(drawn.get(e.from)?.flow ?? '') ?? {}
  if (e.edges.length > 0) return Math.max(0, ...e.edges.map(path => Math.min(...path.map(i => here[i] ?? 0))))
  const ran = (id: string) => (states.get(id)?.runs ?? 0) > 0
  return ran(e.from) && ran(e.to) ? 1 : 0
}
