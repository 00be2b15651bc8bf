import {type Below, type Call, type FoldStep, money, noTally, type Tally, warn} from './state.ts'
import type {Failure, RunEvent} from './types.ts'

type Used = {
  inputTokens?: number
  outputTokens?: number
  costUSD?: number
  unknownCosts?: number
  modelCalls?: number
  toolCalls?: number
}

// Ledger tracks the calls of a run and their usage.
export class Ledger {
  readonly total = noTally()
  private readonly calls = new Map<string, Call>()
  private readonly below = new Map<string, Below>()

  private both(st: FoldStep | null, f: (t: Tally) => void): void {
    if (st) f(st.tally)
    f(this.total)
  }

  // count adds calls by attempt.
  count(st: FoldStep | null, models: number, tools: number): void {
    this.both(st, t => {
      t.models += models
      t.tools += tools
    })
  }

  private use(st: FoldStep, usage: unknown, costUSD: unknown): void {
    const u = usage as {inputTokens?: number; outputTokens?: number} | undefined
    this.both(st, t => {
      t.input += u?.inputTokens ?? 0
      t.output += u?.outputTokens ?? 0
      if (typeof costUSD === 'number') t.cost += money(costUSD)
      else t.unknown++
    })
  }

  private addBelow(st: FoldStep, run: string, used: Used, ended: boolean): void {
    const now: Tally = {
      input: used.inputTokens ?? 0,
      output: used.outputTokens ?? 0,
      cost: money(used.costUSD ?? 0),
      unknown: used.unknownCosts ?? 0,
      models: used.modelCalls ?? 0,
      tools: used.toolCalls ?? 0,
    }
    let before = noTally()
    if (run) {
      const b = this.below.get(run) ?? {step: st, used: noTally(), ended: false}
      this.below.set(run, b)
      before = b.used
      for (const k of ['input', 'output', 'cost', 'models', 'tools'] as const) now[k] = Math.max(now[k], before[k])
      b.used = now
      b.ended = ended
    }
    this.both(st, t => {
      for (const k of Object.keys(now) as (keyof Tally)[]) t[k] += now[k] - before[k]
    })
  }

  // unanswered counts the calls that a run left unanswered when it ended: their cost is unknown.
  unanswered(st: FoldStep | null): number {
    let n = 0
    for (const c of this.calls.values()) if (c.model && (!st || c.step === st)) n++
    for (const b of this.below.values()) if (!b.ended && (!st || b.step === st)) n++
    return n
  }

  // add folds an event inside a step. It reports whether it knows the event.
  add(st: FoldStep, e: RunEvent): boolean {
    const d = e.data
    const call = String(d.call ?? '')
    const frame = Number(d.frame ?? 0)
    switch (e.type) {
      case 'model.called':
        this.count(st, 1, 0)
        this.calls.set(call, {step: st, frame, model: true})
        if (d.compaction) break
        this.instead(st, d)
        if (!st.subs.has(frame) && d.model) st.model = String(d.model)
        break
      case 'model.replied': {
        this.use(st, d.usage, d.costUSD)
        const c = this.calls.get(call)
        this.calls.delete(call)
        if (d.late || !c || d.compaction) break
        warn(st, d.warning)
        if (!st.subs.has(c.frame)) {
          if (d.model) st.model = String(d.model)
          st.stop = String(d.stop ?? '')
        }
        break
      }
      case 'model.failed': {
        const c = this.calls.get(call)
        if (c && d.model && !st.subs.has(c.frame)) st.model = String(d.model)
        this.calls.delete(call)
        const failure = d.error as Failure
        if (failure.code === 'workflow_budget' && !d.usage) this.count(st, -1, 0)
        st.modelError = failure.message
        if (d.usage || !isFree(failure.code)) this.use(st, d.usage, d.costUSD)
        break
      }
      case 'tool.called':
        this.count(st, 0, 1)
        this.calls.set(call, {step: st, frame, model: false})
        break
      case 'tool.returned':
      case 'tool.failed':
        this.calls.delete(call)
        break
      case 'child.started': {
        const run = String(d.run)
        const b = this.below.get(run) ?? {step: st, used: noTally(), ended: false}
        b.step = st
        b.ended = false
        this.below.set(run, b)
        break
      }
      case 'call.used':
        warn(st, d.warning)
        this.addBelow(st, String(d.run ?? ''), (d.used ?? {}) as Used, d.ended === true)
        break
      case 'subagent.started':
        st.subs.add(frame)
        break
      case 'agent.compacted':
        this.calls.delete(call)
        if (d.error)
          warn(st, `The conversation was not shortened (${(d.error as Failure).code}): ${(d.error as Failure).message}`)
        break
      default:
        return quiet.has(e.type)
    }
    return true
  }

  private instead(st: FoldStep, d: Record<string, unknown>): void {
    let text = ''
    const other = d.instead as {model?: string; code: string} | undefined
    const attempt = Number(d.attempt ?? 1)
    if (other) {
      text =
        `The model ${d.model || 'without a name'} is asked instead of ${other.model || 'the default'}, ` +
        `which failed (${other.code})`
      if (attempt > 1 && st.modelError) text += `: ${st.modelError}`
      if (st.asked === text || (attempt === 1 && st.asked)) return
      warn(st, text)
    }
    st.asked = text
  }
}

// quiet are the types of events inside steps that do not affect the view.
const quiet = new Set([
  'agent.handed',
  'call.reserved',
  'condition.checked',
  'func.called',
  'func.noted',
  'func.returned',
  'limit.reached',
  'signal.raised',
  'signal.received',
  'subagent.completed',
  'subagent.failed',
  'timer.fired',
  'tools.pinned',
  'wait.reminded',
  'run.cancelling',
])

export const isQuiet = (type: string): boolean => quiet.has(type)

const free = new Set([
  'rate_limit',
  'overloaded',
  'auth',
  'quota_exceeded',
  'unknown_model',
  'invalid_request',
  'context_length_exceeded',
  'no_reply',
  'workflow_budget',
])

const isFree = (code: string): boolean => free.has(code)
