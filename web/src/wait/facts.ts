import type {Session} from '../api/session.ts'
import type {Answer, RunEvent, RunView} from '../run/types.ts'

export type Limit = {limit: string; max: number; detail: string}

// WaitFacts are the facts of a wait that come from the events, in addition to the fields of the run
// object.
export type WaitFacts = {
  // limit is the budget that the wait is about, or null for all other waits.
  limit: Limit | null
  // lost is the call whose outcome is unknown, or null for all other waits.
  lost: {tool: string; arguments: unknown} | null
  // below is the wait of a child run that this one repeats.
  below: {run: string; wait: string; person?: boolean} | null
  remind: string
  reminded: string
}

// factsOf reads the events of a run for one of its waits.
export function factsOf(events: readonly RunEvent[], wait: string): WaitFacts {
  const facts: WaitFacts = {limit: null, lost: null, below: null, remind: '', reminded: ''}
  const opened = events.findLast(e => e.type === 'wait.opened' && e.data.wait === wait)
  if (!opened) return facts
  const d = opened.data
  const l = d.limit as Partial<Limit> | undefined
  if (l) facts.limit = {limit: l.limit ?? '', max: l.max ?? 0, detail: l.detail ?? ''}
  if (d.call && !d.binding) {
    const called = events.findLast(e => e.type === 'tool.called' && e.data.call === d.call)
    facts.lost = {tool: String(called?.data.tool ?? ''), arguments: called?.data.arguments}
  }
  if (d.below) facts.below = d.below as WaitFacts['below']
  facts.remind = String(d.remind ?? '')
  facts.reminded = events.findLast(e => e.type === 'wait.reminded' && e.data.wait === wait)?.time ?? ''
  return facts
}

const ranks = ['run', 'edit', 'admin']

// refusalOf returns why a session may not answer a wait, or '' if it may. The server decides in any
// case.
export function refusalOf(s: Session, w: {kind: string; roles?: string[] | null}, f: WaitFacts): string {
  const roles = w.roles ?? []
  const fits = (r: string) => (ranks.includes(r) ? ranks.indexOf(s.role) >= ranks.indexOf(r) : s.name === r)
  if (roles.length > 0 && !f.below && !roles.some(fits))
    return `This is for ${roles.join(', ')}; your token is none of them.`
  const person = w.kind === 'approval' || f.limit !== null || f.lost !== null || f.below?.person === true
  return person && !s.approve ? 'Your token lacks the right to approve, which this answer needs.' : ''
}

export type Closed = {answer: Answer | null; reason: string}

// closedOf returns how a wait ended: who answered it, or why it was closed. It returns null while
// it is open or if it never existed.
export function closedOf(view: RunView, events: readonly RunEvent[], wait: string): Closed | null {
  if (view.waiting.some(w => w.id === wait)) return null
  const answer = view.answers.findLast(a => a.wait === wait) ?? null
  const closed = events.findLast(e => e.type === 'wait.closed' && e.data.wait === wait)
  const known = events.some(e => e.type === 'wait.opened' && e.data.wait === wait)
  if (!answer && !known) return null
  return {answer, reason: String(closed?.data.reason ?? (view.endedAt ? 'the run ended' : ''))}
}

// saidOf describes an answer in words.
export function saidOf(a: Answer): string {
  if (a.decision === 'approve') return a.arguments === undefined ? 'approved' : 'approved with changed arguments'
  if (a.decision === 'reject') return 'rejected'
  if (a.decision) return `chose ${a.decision}`
  return a.by.channel === 'clock' ? 'did not come: the deadline passed' : 'answered'
}

// whoOf returns the name of the person who answered.
export const whoOf = (a: Answer): string =>
  a.by.name || {clock: 'An answer', 'approve-all': 'Approval of everything'}[a.by.channel] || a.by.channel

export type Unit = {word: string; label: string; suffix: string; max: number; used: number; step: number}

// unitOf converts a limit to units for people: money is counted in millionths of a dollar.
export function unitOf(l: Limit, usage: RunView['usage']): Unit {
  if (l.detail === 'micro-USD')
    return {
      word: 'dollars',
      label: 'New total in dollars',
      suffix: 'USD',
      max: l.max / 1e6,
      used: usage.costUSD ?? Number.NaN,
      step: 0.000001,
    }
  if (l.detail === 'calls') {
    return {
      word: 'calls',
      label: 'New total of calls',
      suffix: 'calls',
      max: l.max,
      used: usage.modelCalls + usage.toolCalls,
      step: 1,
    }
  }
  return {
    word: 'tokens',
    label: 'New total of tokens',
    suffix: '',
    max: l.max,
    used: usage.inputTokens + usage.outputTokens,
    step: 1,
  }
}
