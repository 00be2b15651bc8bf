import {asText} from '../lib/json.ts'
import type {Message} from './calls.ts'
import type {Failure, RunEvent, Step} from './types.ts'

export type Hit = {step: number; where: string; name: string; before: string; found: string; after: string}

// most limits the hits; longest limits the searched text of one value.
export const most = 500
const longest = 2_000_000
const around = 60

// written caches the text of values that are not strings: a value is serialized once, for all
// searches, as long as it exists.
const written = new WeakMap<object, string>()

function textOf(value: unknown): string {
  if (value === null || typeof value !== 'object') return asText(value)
  let text = written.get(value)
  if (text === undefined) {
    text = asText(value).slice(0, longest)
    written.set(value, text)
  }
  return text
}

// Searched is a value of a run that is searched.
export type Searched = {step: number; name: string; where: string; value: unknown}

// searchOf finds a string in names, inputs, outputs, errors and messages of a run, in the order of
// the steps. Case is ignored.
export const searchOf = (steps: readonly Step[], events: readonly RunEvent[], text: string): Hit[] =>
  find(searchedOf(steps, events), text)

// find searches for a string in values.
export function find(values: readonly Searched[], text: string): Hit[] {
  const word = text.trim()
  if (word === '') return []
  const wanted = new RegExp(word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), 'i')
  const hits: Hit[] = []
  for (const {step, name, where, value} of values) {
    if (hits.length >= most) break
    const whole = textOf(value).slice(0, longest)
    const found = wanted.exec(whole)
    if (!found) continue
    const at = found.index
    const end = at + found[0].length
    const from = Math.max(0, at - around)
    hits.push({
      step,
      where,
      name,
      before: (from > 0 ? '…' : '') + whole.slice(from, at),
      found: whole.slice(at, end),
      after: whole.slice(end, end + around) + (end + around < whole.length ? '…' : ''),
    })
  }
  return hits
}

// searchedOf returns all searched values of a run, in the order of the steps.
export function searchedOf(steps: readonly Step[], events: readonly RunEvent[]): Searched[] {
  const all: Searched[] = []
  const look = (step: number, name: string, where: string, value: unknown) => {
    if (value !== null && value !== undefined && value !== '') all.push({step, name, where, value})
  }
  const said = new Map<number, [string, unknown][]>()
  for (const e of events) {
    if (!e.step) continue
    for (const found of messagesOf(e)) {
      const list = said.get(e.step)
      if (list) list.push(found)
      else said.set(e.step, [found])
    }
  }
  for (const s of steps) {
    look(s.seq, s.name, 'name', s.node === s.name ? s.name : `${s.name} ${s.node}`)
    look(s.seq, s.name, 'given', s.input)
    for (const [where, value] of said.get(s.seq) ?? []) look(s.seq, s.name, where, value)
    look(s.seq, s.name, 'gave', s.output)
    if (s.error)
      look(
        s.seq,
        s.name,
        'error',
        `${s.error.code}: ${typeof s.error.message === 'string' ? s.error.message : s.error.message.$value.head}`,
      )
    look(s.seq, s.name, 'note', s.note)
  }
  return all
}

function messagesOf(e: RunEvent): [string, unknown][] {
  const d = e.data
  switch (e.type) {
    case 'model.replied':
      return [['reply', (d.message as Message | undefined)?.text]]
    case 'model.called':
      return ((d.added ?? []) as Message[]).map((m): [string, unknown] => [m.role, m.text])
    case 'tool.called':
      return [[`arguments of ${d.tool}`, d.arguments]]
    case 'tool.returned':
      return [['result', d.structured ?? d.text]]
    case 'tool.failed':
    case 'model.failed':
      return [['error', (d.error as Failure | undefined)?.message]]
    case 'wait.opened':
      return [['question', d.prompt]]
    case 'wait.answered':
      return [
        ['answer', [d.decision, d.note, d.answer === undefined ? '' : asText(d.answer)].filter(Boolean).join(' ')],
      ]
    default:
      return []
  }
}
