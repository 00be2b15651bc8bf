import type {Message} from './calls.ts'
import type {Failure, RunEvent} from './types.ts'

// Turn is one message of an agent, a tool or a person, in order.
export type Turn = {
  id: string
  kind: 'given' | 'reply' | 'tool' | 'person' | 'error'
  step: number
  node: string
  iteration: number
  // agent is the speaker or the addressee; depth is greater than 0 for sub-agents.
  agent: string
  depth: number
  time: string
  text: unknown
  // name and arguments belong to a tool call, and result is its result; open means that there is
  // none yet.
  name: string
  arguments: unknown
  result: unknown
  open: boolean
}

type Step = {node: string; iteration: number; agent: string}

// conversationOf returns the conversation of a run. streamed is the model output in progress, by
// call.
export function conversationOf(events: readonly RunEvent[], streamed: ReadonlyMap<string, string>): Turn[] {
  const turns: Turn[] = []
  const steps = new Map<number, Step>()
  const frames = new Map<string, {agent: string; depth: number}>()
  const open = new Map<string, {turn: Turn | null; e: RunEvent}>()
  const waits = new Map<string, RunEvent>()
  const turnOf = (e: RunEvent, kind: Turn['kind'], more: Partial<Turn> = {}): Turn => {
    const step = steps.get(e.step ?? 0)
    const frame = frames.get(`${e.step} ${e.data.frame ?? 0}`)
    return {
      id: `${e.seq}`,
      kind,
      step: e.step ?? 0,
      node: e.node ?? '',
      iteration: step?.iteration ?? 1,
      agent: frame?.agent ?? step?.agent ?? '',
      depth: frame?.depth ?? 0,
      time: e.time,
      text: null,
      name: '',
      arguments: undefined,
      result: undefined,
      open: false,
      ...more,
    }
  }
  for (const e of events) {
    const d = e.data
    const call = String(d.call ?? '')
    switch (e.type) {
      case 'step.started':
        steps.set(e.step ?? 0, {node: e.node ?? '', iteration: Number(d.iteration ?? 1), agent: String(d.agent ?? '')})
        if (d.agent) turns.push(turnOf(e, 'given', {text: d.input ?? null}))
        break
      case 'subagent.started':
        frames.set(`${e.step} ${d.frame}`, {agent: String(d.agent ?? ''), depth: Number(d.depth ?? 1)})
        turns.push(turnOf(e, 'given', {text: d.input ?? null}))
        break
      case 'model.called':
        open.set(call, {turn: null, e})
        break
      case 'model.replied': {
        const m = d.message as Message | undefined
        const begun = open.get(call)?.e ?? e
        open.delete(call)
        if (d.compaction || m?.text === undefined || m.text === '') break
        turns.push(turnOf({...begun, seq: e.seq, time: e.time}, 'reply', {text: m.text}))
        break
      }
      case 'model.failed': {
        const begun = open.get(call)?.e ?? e
        open.delete(call)
        const f = d.error as Failure | undefined
        turns.push(
          turnOf({...begun, seq: e.seq, time: e.time}, 'error', {text: `${f?.code ?? ''}: ${f?.message ?? ''}`}),
        )
        break
      }
      case 'tool.called': {
        if (!steps.get(e.step ?? 0)?.agent) break
        const known = open.get(call)?.turn
        if (known) break // the call is made again
        const turn = turnOf(e, 'tool', {name: String(d.tool ?? ''), arguments: d.arguments, open: true})
        turns.push(turn)
        open.set(call, {turn, e})
        break
      }
      case 'tool.returned':
      case 'tool.failed': {
        const turn = open.get(call)?.turn
        if (!turn) break
        const f = d.error as Failure | undefined
        turn.open = false
        turn.result =
          e.type === 'tool.failed' && f && typeof f === 'object' ? `${f.code}: ${f.message}` : (d.structured ?? d.text)
        break
      }
      case 'wait.opened':
        waits.set(String(d.wait), e)
        break
      case 'wait.answered': {
        const asked = waits.get(String(d.wait))
        const by = d.by as {name?: string; channel?: string} | undefined
        const said = [
          d.decision,
          typeof d.answer === 'string' ? d.answer : d.answer === undefined ? '' : JSON.stringify(d.answer),
          d.note,
        ]
          .filter(Boolean)
          .join('\n')
        turns.push(
          turnOf({...e, node: asked?.node ?? e.node}, 'person', {
            agent: by?.name || by?.channel || '',
            name: String(asked?.data.prompt ?? ''),
            text: said,
          }),
        )
      }
    }
  }
  for (const [call, {turn, e}] of open) {
    if (!turn && e.type === 'model.called' && steps.get(e.step ?? 0)?.agent && !e.data.compaction)
      turns.push(turnOf(e, 'reply', {id: `live ${call}`, text: streamed.get(call) ?? '', open: true}))
  }
  return turns
}
