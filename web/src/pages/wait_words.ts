import type {OpenWait} from '../shell/waits.ts'

// waitTitle says in a line what is asked.
export function waitTitle(w: Pick<OpenWait, 'prompt' | 'tool' | 'node' | 'kind' | 'signal'>): string {
  if (typeof w.prompt === 'string' && w.prompt) return w.prompt
  if (w.prompt && typeof w.prompt === 'object') return w.prompt.$value.head
  if (w.tool) return `May ${w.node} call ${w.tool}?`
  if (w.kind === 'signal') return `${w.node} waits for the signal ${w.signal ?? ''}`
  return `${w.node} waits for ${kindText(w.kind)}`
}

const kinds: Record<string, string> = {
  approval: 'an approval',
  question: 'an answer',
  budget: 'a higher limit',
  unknown: 'a decision about a call of which the outcome is not known',
  outcome: 'a decision about a call of which the outcome is not known',
  signal: 'a signal',
}

export const kindText = (kind: string): string => kinds[kind] ?? kind
