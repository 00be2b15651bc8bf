import type {Ledger} from './calls_fold.ts'
import {countsOf, type FoldStep, type FoldWait, itemOf, type Tally} from './state.ts'
import {isTest} from './test_run.ts'
import {micros, short} from './time.ts'
import type {
  Answer,
  Definition,
  Failure,
  NodeState,
  NodeStatus,
  RunError,
  RunEvent,
  RunStatus,
  RunView,
  Step,
  Usage,
  Waiting,
} from './types.ts'
import {kindWord, nodeWord, titleOf} from './words.ts'

export const ended: ReadonlySet<RunStatus> = new Set<RunStatus>(['completed', 'failed', 'cancelled'])

// SeenSteps are the views of ended steps, by number, with the number of events that had changed
// them, which identifies their state within one run.
export type SeenSteps = Map<number, {version: number; view: Step}>

// Folded is the state of a fold.
export type Folded = {
  id: string
  def: Definition | null
  created: Record<string, unknown>
  status: RunStatus
  startedAt: string
  endedAt: string
  failure: Failure | null
  reason: string
  said: unknown
  outputStep: FoldStep | undefined
  order: FoldStep[]
  outputs: Map<string, FoldStep>
  answers: Answer[]
  waits: FoldWait[]
  taken: Record<number, number>
  takenIn: Record<string, Record<number, number>>
  unknown: RunEvent[]
  ledger: Ledger
  seq: number
  seen: SeenSteps
}

const statusOf = (f: Folded, st: FoldStep): Step['status'] => {
  if (st.status !== 'running') return st.status
  if (ended.has(f.status)) return 'cancelled'
  return st.waiting > 0 ? 'waiting' : 'running'
}

const errorOf = (e: Failure, node: string | null): RunError => ({
  code: e.code,
  message: e.message,
  node: e.node || node || null,
})

const stepError = (f: Folded, st: FoldStep): RunError | null => {
  const status = statusOf(f, st)
  if (status === 'failed' && st.failure) return errorOf(st.failure, st.node)
  if (status === 'cancelled') return {code: 'cancelled', message: st.reason || 'the run ended', node: st.node || null}
  return null
}

const runError = (f: Folded): RunError | null => {
  if (f.failure) return errorOf(f.failure, null)
  if (f.status !== 'cancelled') return null
  return {code: 'cancelled', message: f.reason || 'Run cancelled by user', node: null}
}

const usageOf = (t: Tally, open: number): Usage => ({
  inputTokens: t.input,
  outputTokens: t.output,
  costUSD: t.unknown + open > 0 ? null : t.cost / 1e12,
})

// stepViewOf builds the view of a step, and only once if nothing in the run can change it any more
// except an event of its own.
const stepViewOf = (f: Folded, st: FoldStep, format: string): Step => {
  if (st.status === 'running' || st.version < 0 || ended.has(f.status)) return stepView(f, st, format)
  const seen = f.seen.get(st.n)
  if (seen?.version === st.version) return seen.view
  const view = stepView(f, st, format)
  f.seen.set(st.n, {version: st.version, view})
  return view
}

const stepView = (f: Folded, st: FoldStep, format: string): Step => {
  const end = st.endedAt || f.endedAt
  const s: Step = {
    seq: st.n,
    node: st.node,
    name: titleOf(st.def),
    kind: st.def.kind === st.kind ? nodeWord(st.def, format) : kindWord(st.kind, format),
    attempt: st.attempt,
    iteration: st.iteration,
    status: statusOf(f, st),
    input: st.input,
    output: st.status === 'completed' || st.hasDefault ? st.output : null,
    error: stepError(f, st),
    usage: usageOf(st.tally, ended.has(f.status) ? f.ledger.unanswered(st) : 0),
    model: st.model || null,
    startedAt: short(st.startedAt),
    durationMs: end ? Math.trunc((micros(end) - micros(st.startedAt)) / 1000) : null,
  }
  if (st.decision) s.decision = st.decision
  if (st.note) s.note = st.note
  if (st.warnings.length > 0) s.warnings = [...st.warnings]
  if (st.stop) s.stopReason = st.stop
  const goesOn = s.status === 'running' || s.status === 'waiting'
  const items = countsOf(st, goesOn)
  if (items) s.items = items
  const at = itemOf(st.scope)
  if (at) {
    s.map = at.map
    s.item = at.item
  }
  return s
}

const waitView = (w: FoldWait): Waiting => {
  const {step: _step, call: _call, done: _done, below: _below, person: _person, ...rest} = w
  return rest
}

const nodeStatus: Record<string, NodeStatus> = {
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  skipped: 'skipped',
  waiting: 'waiting',
  running: 'running',
}

const nodesOf = (f: Folded): NodeState[] => {
  const last = new Map<string, FoldStep>()
  const runs = new Map<string, number>()
  for (const st of f.order) {
    last.set(st.node, st)
    if (st.status !== 'skipped') runs.set(st.node, (runs.get(st.node) ?? 0) + 1)
  }
  return (f.def?.nodes ?? [])
    .filter(n => !n.hidden)
    .map(n => {
      const st = last.get(n.id)
      const s: NodeState = {node: n.id, status: 'pending', runs: runs.get(n.id) ?? 0}
      if (st) {
        s.status = nodeStatus[statusOf(f, st)] ?? 'pending'
        const message = stepError(f, st)?.message ?? st.reason
        const reason = typeof message === 'string' ? message : message.$value.head
        if (reason) s.reason = reason
      } else if (ended.has(f.status)) {
        s.status = 'skipped'
        s.reason = f.status === 'completed' ? 'no path led here' : 'the run ended before'
      }
      return s
    })
}

// viewOf returns the view of a run.
export function viewOf(f: Folded): RunView {
  const c = f.created
  const text = (v: unknown) => (typeof v === 'string' && v !== '' ? v : null)
  const meta = (c.meta ?? {}) as Record<string, string>
  const format = text(c.format) ?? f.def?.format ?? ''
  const branch = text(meta.branch) ?? text(meta.targetBranchId)
  const goesOn = !ended.has(f.status)
  return {
    id: f.id,
    workflow: {
      id: text(c.workflow) ?? (branch ? null : text(f.def?.id)),
      name: text(c.name) ?? (branch ? null : text(f.def?.name)),
      format: format || null,
      version: /^\d+$/.test(meta.version ?? '') ? Number(meta.version) : null,
      branch,
    },
    status: f.status,
    input: c.input ?? null,
    output: f.status === 'completed' ? (f.said ?? f.outputStep?.output ?? null) : null,
    outputs: Object.fromEntries(
      [...f.outputs]
        .filter(([, st]) => st.output !== null || st.def.kind !== 'func')
        .map(([node, st]) => [node, st.output]),
    ),
    error: runError(f),
    waiting: goesOn ? f.waits.map(waitView) : [],
    answers: [...f.answers],
    steps: f.order.filter(st => !st.def.hidden).map(st => stepViewOf(f, st, format)),
    usage: {
      ...usageOf(f.ledger.total, goesOn ? 0 : f.ledger.unanswered(null)),
      modelCalls: f.ledger.total.models,
      toolCalls: f.ledger.total.tools,
    },
    startedAt: f.startedAt ? short(f.startedAt) : null,
    endedAt: f.endedAt ? short(f.endedAt) : null,
    parentRun: text(c.parentRun),
    forkedFrom: text(c.forkedFrom),
    retry: c.retry === true,
    nodes: nodesOf(f),
    taken: {...f.taken},
    takenIn: Object.fromEntries(Object.entries(f.takenIn).map(([path, n]) => [path, {...n}])),
    trigger: text(c.trigger) ?? '',
    test: isTest(c.labels),
    seq: f.seq,
    unknown: [...f.unknown],
  }
}
