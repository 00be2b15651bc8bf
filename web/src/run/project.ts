import {isQuiet, Ledger} from './calls_fold.ts'
import {type FoldStep, type FoldWait, noTally, type Scope} from './state.ts'
import {short} from './time.ts'
import type {Answer, Definition, DefNode, Failure, RunEvent, RunStatus, RunView} from './types.ts'
import {ended, type SeenSteps, viewOf} from './view.ts'
import {waitOf} from './waits_fold.ts'

const statusAfter: Record<string, RunStatus> = {
  'run.created': 'pending',
  'run.started': 'running',
  'run.resumed': 'running',
  'run.paused': 'paused',
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
}

// Fold folds the events of one run in order. It makes no decisions: the same events result in the
// same view, live or loaded (P36).
export class Fold {
  private status: RunStatus = 'pending'
  private created: Record<string, unknown> = {}
  private startedAt = ''
  private endedAt = ''
  private failure: Failure | null = null
  private reason = ''
  private outputStep = 0
  private said: unknown
  private seq = 0
  private readonly steps = new Map<number, FoldStep>()
  private readonly order: FoldStep[] = []
  private readonly scopes = new Map<number, Scope>()
  private readonly outputs = new Map<string, FoldStep>()
  private readonly answers: Answer[] = []
  private readonly taken: Record<number, number> = {}
  private readonly takenIn: Record<string, Record<number, number>> = {}
  private readonly unknown: RunEvent[] = []
  private readonly ledger = new Ledger()
  private readonly byID = new Map<Definition, Map<string, DefNode>>()
  private waits: FoldWait[] = []

  constructor(
    private readonly id: string,
    private readonly def: Definition | null,
    // seen are the views of steps, which folds of one run share: ended steps are rendered once.
    private readonly seen: SeenSteps = new Map(),
  ) {
    this.scopes.set(0, this.scope(0, def ?? {entry: '', nodes: [], edges: []}, '', null))
  }

  private scope(n: number, flow: Definition, prefix: string, owner: FoldStep | null): Scope {
    return {n, flow, prefix, owner, last: null, failed: false, failure: null, place: 0}
  }

  // add folds the next event. An event that was folded before is ignored.
  add(e: RunEvent): void {
    if (e.seq <= this.seq) return
    this.seq = e.seq
    if (e.type in statusAfter) {
      this.addRun(e)
      return
    }
    switch (e.type) {
      case 'step.started':
        return this.start(e)
      case 'wait.opened':
        return this.openWait(e)
      case 'wait.answered':
      case 'wait.closed':
        return this.endWait(e)
    }
    const st = this.steps.get(e.step ?? 0)
    if (!st) {
      if (e.type === 'step.skipped') this.skip(e)
      else if (!isQuiet(e.type) && e.type !== 'edge.taken') this.unknown.push(e)
      return
    }
    if (st.version >= 0) st.version++
    if (e.type === 'edge.taken') this.edge(st, e.data)
    else if (e.type.startsWith('step.') && this.step(st, e)) return
    else if (!this.ledger.add(st, e)) this.unknown.push(e)
  }

  private addRun(e: RunEvent): void {
    const d = e.data
    this.status = statusAfter[e.type]!
    if (ended.has(this.status)) this.endedAt = e.time
    switch (e.type) {
      case 'run.created':
        this.created = d
        break
      case 'run.started':
        this.startedAt = this.created.retry ? String(this.created.forkedAt) : e.time
        break
      case 'run.resumed':
        this.endedAt = ''
        this.failure = null
        this.reason = ''
        break
      case 'run.completed':
        this.outputStep = Number(d.outputStep ?? 0)
        this.said = d.output
        break
      case 'run.failed':
        this.failure = d.error as Failure
        break
      case 'run.cancelled':
        this.reason = String(d.reason ?? '')
    }
  }

  private nodeOf(flow: Definition, id: string): DefNode | undefined {
    let nodes = this.byID.get(flow)
    if (!nodes) {
      nodes = new Map(flow.nodes.map(n => [n.id, n]))
      this.byID.set(flow, nodes)
    }
    return nodes.get(id)
  }

  private make(e: RunEvent, sc: Scope): FoldStep {
    const node = e.node ?? ''
    const local = node.startsWith(sc.prefix) ? node.slice(sc.prefix.length) : node
    const found = this.nodeOf(sc.flow, local)
    const kind = String(e.data.kind ?? found?.kind ?? '')
    return {
      n: e.step ?? 0,
      version: 0,
      node,
      def: found ?? {id: node, kind},
      kind,
      scope: sc,
      iteration: Number(e.data.iteration ?? 1),
      agent: String(e.data.agent ?? ''),
      startedAt: e.time,
      endedAt: '',
      status: 'running',
      attempt: 1,
      input: e.data.input ?? null,
      output: null,
      failure: null,
      hasDefault: false,
      reason: '',
      waiting: 0,
      decision: '',
      note: '',
      model: '',
      tally: noTally(),
      warnings: [],
      stop: '',
      asked: '',
      modelError: '',
      branches: new Map(),
      items: null,
      subs: new Set(),
    }
  }

  private start(e: RunEvent): void {
    if (this.steps.has(e.step ?? 0)) return
    const st = this.make(e, this.scopes.get(Number(e.data.scope ?? 0)) ?? this.scopes.get(0)!)
    this.steps.set(st.n, st)
    this.order.push(st)
  }

  private skip(e: RunEvent): void {
    if (!e.node) return
    const st = this.make(e, this.scopes.get(0)!)
    st.version = -1
    st.status = 'skipped'
    st.endedAt = e.time
    st.reason = String(e.data.reason ?? '')
    st.input = this.created.input ?? null
    if (st.n > 0) this.steps.set(st.n, st)
    this.order.push(st)
  }

  private give(st: FoldStep): void {
    st.scope.last = st
    if (!st.def.hidden) this.outputs.set(st.node, st)
  }

  // step folds an event that ends or retries a step; it returns false if the type is unknown.
  private step(st: FoldStep, e: RunEvent): boolean {
    const d = e.data
    if (e.type === 'step.retrying') {
      if (d.model) return true
      st.attempt = Number(d.attempt)
      if (!d.call) this.again(st)
      return true
    }
    const status = e.type.slice('step.'.length)
    if (status !== 'completed' && status !== 'failed' && status !== 'cancelled' && status !== 'skipped') return false
    st.status = status
    st.endedAt = e.time
    switch (status) {
      case 'completed':
        st.output = d.output ?? null
        this.give(st)
        break
      case 'failed':
        this.fail(st, d)
        break
      default:
        st.reason = String(d.reason ?? '')
        if (status === 'skipped' && Array.isArray(d.ports) && d.ports.length > 0) {
          st.output = st.input
          st.scope.last = st
        }
    }
    this.closeItems(st)
    return true
  }

  private fail(st: FoldStep, d: Record<string, unknown>): void {
    const f = d.error as Failure
    st.failure = f
    if (!d.port) {
      if (!st.scope.failed) {
        st.scope.failed = true
        st.scope.failure = f
      }
    } else if (!st.def.catch && (d.port !== 'limit' || f.code !== 'max_loop_iterations')) {
      return
    } else if (d.output === undefined && f.code === 'items_failed' && st.items) {
      st.output = st.items.done.map(i => (i.failure ? {error: i.failure} : (i.output ?? null)))
      this.give(st)
    } else if (d.output === undefined) {
      st.output = st.input
      st.scope.last = st
    } else {
      st.output = d.output
      st.hasDefault = true
      this.give(st)
    }
  }

  private again(st: FoldStep): void {
    this.closeItems(st)
    st.branches.clear()
    if (!st.items) return
    st.items.done = st.items.done.map(i => (i.failure ? {output: null, failure: null, ended: false} : i))
    st.items.ended = st.items.done.filter(i => i.ended).length
    st.items.failed = 0
  }

  private closeItems(st: FoldStep): void {
    if (!st.def.map) return
    for (const sc of st.branches.values()) if (sc.failed && st.items) st.items.failed++
    st.branches.clear()
    if (st.status === 'completed' && !st.items) this.openItems(st)
  }

  private openItems(st: FoldStep): void {
    if (st.items) return
    const n = Array.isArray(st.input) ? st.input.length : 0
    st.items = {done: Array.from({length: n}, () => ({output: null, failure: null, ended: false})), ended: 0, failed: 0}
  }

  private edge(st: FoldStep, d: Record<string, unknown>): void {
    const branch = Number(d.branch ?? 0)
    const n = Number(d.scope ?? 0)
    const index = Number(d.edge ?? -1)
    const {flow, prefix} = st.scope
    if (index >= 0 && (flow === this.def || prefix !== '')) {
      let taken = this.taken
      if (flow !== this.def) taken = this.takenIn[prefix] ??= {}
      taken[index] = (taken[index] ?? 0) + 1
    }
    if (st.def.map && branch > 0 && d.to === st.def.id) return this.endItem(st, branch)
    if (branch > 0 && !st.branches.has(branch)) {
      const sc = this.scope(n, st.scope.flow, st.scope.prefix, st)
      st.branches.set(branch, sc)
      this.scopes.set(n, sc)
      if (st.def.map) {
        sc.place = branch
        this.openItems(st)
        while (st.items!.done.length < branch) st.items!.done.push({output: null, failure: null, ended: false})
      }
    } else if (st.def.kind === 'subflow' && st.status === 'running') {
      const flow = st.def.subflow && st.scope.flow.flows?.[st.def.subflow.flow]
      this.scopes.set(n, this.scope(n, flow ?? {entry: '', nodes: [], edges: []}, `${st.node}/`, st))
    }
  }

  private endItem(st: FoldStep, branch: number): void {
    const sc = st.branches.get(branch)
    const item = st.items?.done[branch - 1]
    if (!sc || !item || !st.items) return
    if (sc.failed) {
      item.failure = sc.failure
      st.items.failed++
    } else if (sc.last) item.output = sc.last.output
    item.ended = true
    st.items.ended++
    st.branches.delete(branch)
  }

  private openWait(e: RunEvent): void {
    const d = e.data
    const st = this.steps.get(e.step ?? 0) ?? null
    const held = !!d.call && !!d.binding && (d.kind === 'approval' || !!d.below)
    if (st) {
      st.waiting++
      st.version++
      this.ledger.count(st, 0, held ? -1 : 0)
    }
    this.waits.push(waitOf(e, st))
  }

  private endWait(e: RunEvent): void {
    const d = e.data
    const w = this.waits.findLast(v => v.id === d.wait)
    if (!w || w.done) return
    w.done = true
    if (w.step) {
      w.step.waiting--
      w.step.version++
    }
    const by = d.by as Answer['by'] | undefined
    const answered = e.type === 'wait.answered'
    if (answered || by) {
      const a: Answer = {wait: w.id, node: w.node, kind: w.kind, by: by ?? {channel: ''}, at: short(e.time)}
      if (w.tool) a.tool = w.tool
      if (answered) {
        for (const k of ['decision', 'note'] as const) if (d[k]) a[k] = String(d[k])
        if (d.answer !== undefined) a.answer = d.answer
        if (d.arguments !== undefined) {
          a.arguments = d.arguments
          a.held = w.arguments
        }
      }
      this.answers.push(a)
    }
    if (answered && d.decision && !w.call && w.step?.def.kind === 'wait') {
      w.step.decision = String(d.decision)
      w.step.note = String(d.note ?? '')
    }
    this.waits = this.waits.filter(v => v !== w)
  }

  // view returns the run as of the last event. The caller owns it; values in it are shared.
  view(): RunView {
    return viewOf({
      id: this.id,
      def: this.def,
      created: this.created,
      status: this.status,
      startedAt: this.startedAt,
      endedAt: this.endedAt,
      failure: this.failure,
      reason: this.reason,
      said: this.said,
      outputStep: this.steps.get(this.outputStep),
      order: this.order,
      outputs: this.outputs,
      answers: this.answers,
      waits: this.waits,
      taken: this.taken,
      takenIn: this.takenIn,
      unknown: this.unknown,
      ledger: this.ledger,
      seq: this.seq,
      seen: this.seen,
    })
  }
}

// project builds the view of a run from its events.
export function project(id: string, def: Definition | null, events: RunEvent[]): RunView {
  const f = new Fold(id, def)
  for (const e of events) f.add(e)
  return f.view()
}
