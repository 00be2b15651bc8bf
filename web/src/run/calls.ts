import type {Failure, RunEvent} from './types.ts'

export type Message = {
  role: string
  text?: unknown
  toolCalls?: {id: string; name: string; arguments?: unknown}[]
  toolCallId?: string
  name?: string
}

// Call is one call of a step, by attempt.
export type Call = {
  kind: 'model' | 'tool' | 'func'
  call: string
  attempt: number
  frame: number
  agent: string
  name: string
  startedAt: string
  endedAt: string
  // sent are the messages that were added for the call; the messages before them belong to earlier
  // calls of the same conversation.
  sent: Message[]
  arguments: unknown
  reply: Message | null
  result: unknown
  error: Failure | null
  usage: {inputTokens?: number; outputTokens?: number; cachedTokens?: number; reasoningTokens?: number} | null
  costUSD: number | null
  stop: string
  toolCallID: string
}

const blank = (kind: Call['kind'], e: RunEvent): Call => ({
  kind,
  call: String(e.data.call ?? ''),
  attempt: Number(e.data.attempt ?? 1),
  frame: Number(e.data.frame ?? 0),
  agent: String(e.data.agent ?? ''),
  name: String(e.data.model ?? e.data.tool ?? e.data.func ?? ''),
  startedAt: e.time,
  endedAt: '',
  sent: (e.data.added ?? []) as Message[],
  arguments: e.data.arguments,
  reply: null,
  result: undefined,
  error: null,
  usage: null,
  costUSD: null,
  stop: '',
  toolCallID: String(e.data.toolCallId ?? ''),
})

// callsOf returns the calls of a step in order, including calls in flight.
export function callsOf(events: readonly RunEvent[], step: number): Call[] {
  const all: Call[] = []
  const open = new Map<string, Call>()
  for (const e of events) {
    if (e.step !== step) continue
    const {data: d} = e
    switch (e.type) {
      case 'model.called':
      case 'tool.called':
      case 'func.called': {
        const c = blank(e.type === 'model.called' ? 'model' : e.type === 'tool.called' ? 'tool' : 'func', e)
        open.set(c.call, c)
        all.push(c)
        break
      }
      case 'model.replied':
      case 'model.failed':
      case 'tool.returned':
      case 'tool.failed':
      case 'func.returned': {
        const c = open.get(String(d.call ?? ''))
        if (!c) break
        c.endedAt = e.time
        if (d.error) c.error = d.error as Failure
        if (e.type === 'model.replied') c.reply = d.message as Message
        else if (e.type === 'tool.returned') c.result = d.structured ?? d.text
        else if (e.type === 'func.returned') c.result = d.output
        if (d.usage) c.usage = d.usage as Call['usage']
        if (typeof d.costUSD === 'number') c.costUSD = d.costUSD
        if (d.model) c.name = String(d.model)
        c.stop = String(d.stop ?? '')
      }
    }
  }
  return all
}
